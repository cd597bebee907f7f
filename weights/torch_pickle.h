#pragma once
// Reads PyTorch checkpoints (pytorch_model.bin). Since PyTorch 1.6 they are a zip file with one
// pickle and the bytes of each storage; before that, five pickles followed by the storages.

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Returns the tensors of a state dict, or of the "state_dict" in a checkpoint. Tensors that share
/// a storage share its bytes. A tensor that is not contiguous is copied in row-major order. Other
/// values are listed in notes. Nothing in the file is executed (weights/pickle). Errors name the
/// file: kNotFound, kIo, kCorrupt; kUnsupported for other versions of the old format, compressed
/// entries, and other pickle contents.
Result<TensorList> open_torch(const std::filesystem::path& path);

/// Opens all files listed in a pytorch_model.bin.index.json, which are in the same directory.
Result<TensorList> open_torch_index(const std::filesystem::path& path);

/// Adds the tensors of a file in memory, which must outlive the list. Errors start with `name`.
Result<void> read_torch(TensorList& list, std::span<const std::byte> file, std::string_view name);

}  // namespace signalbox::weights
