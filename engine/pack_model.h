#pragma once
// Writes a model directory's weights with the trunk's matrices in the kernels' packed format. Such
// a file is mapped and used in place, opens in milliseconds, and its pages are shared between
// processes.

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/tensor_reader.h"
#include "weights/tensor_list.h"

namespace signalbox::engine {

struct PackedModel {
  weights::TensorList tensors;         // the tensors of the new file
  std::vector<PackedMatrix> matrices;  // the packed ones among them; their `bytes` are empty
  std::vector<int32_t> wide_layers;    // layers kept in bfloat16 although 8 bits were requested
  double error = 0;                    // remaining error of 8 bits, as defined at
                                       // PackOptions::error_max
};

struct PackOptions {
  Precision precision = Precision::kF32;
  /// The maximum relative error that 8 bits may cause in the hidden states of synthetic texts: the
  /// length of the difference divided by the length of the single-precision result. While the error
  /// is larger, the layer that reduces it most is kept in bfloat16, up to half of the layers. This
  /// works because outliers, which 8 bits cannot represent together with small values, are
  /// concentrated in few layers.
  double error_max = 0.1;
};

/// For formats below 32 bits the token table is stored in 16 bits. Errors: those of opening the
/// model; kInvalid if its matrices are packed already.
Result<PackedModel> pack_model(const std::filesystem::path& directory, const PackOptions& options);

}  // namespace signalbox::engine
