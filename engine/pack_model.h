#pragma once
// A model directory's weights with the trunk's matrices as the kernels read them: such a file is
// mapped and used in place, opens in milliseconds, and its pages are shared between processes.

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/tensor_reader.h"
#include "weights/tensor_list.h"

namespace signalbox::engine {

struct PackedModel {
  weights::TensorList tensors;         // of the file to be written
  std::vector<PackedMatrix> matrices;  // which of them were packed; `bytes` are empty
  std::vector<int32_t> wide_layers;    // those that stay in bfloat16 though 8 bits were asked for
  double error = 0;                    // of the hidden states, as PackOptions has it; of 8 bits
};

struct PackOptions {
  Precision precision = Precision::kF32;
  /// What 8 bits may do to the hidden states of made-up texts: the length of the difference over
  /// the length of what single precision gives. While it is more, the layer that helps most is held
  /// in bfloat16, up to half of them. Outliers, beside which 8 bits cannot hold what is small, sit
  /// in few layers.
  double error_max = 0.1;
};

/// In fewer bits than 32 the token table is held in 16. Errors: those of opening the model;
/// kInvalid when its matrices are packed already.
Result<PackedModel> pack_model(const std::filesystem::path& directory, const PackOptions& options);

}  // namespace signalbox::engine
