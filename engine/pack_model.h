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
};

/// In fewer bits than 32 the token table is held in 16. Errors: those of opening the model;
/// kInvalid when its matrices are packed already.
Result<PackedModel> pack_model(const std::filesystem::path& directory, Precision precision);

}  // namespace signalbox::engine
