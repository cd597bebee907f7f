#pragma once
// Reader of PyTorch's checkpoints (pytorch_model.bin): since PyTorch 1.6 a zip file of one pickle
// and the bytes of each storage, before that five pickles and the storages in a row.

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// The tensors of a state dict, or of the "state_dict" of a checkpoint. Those that share a storage
/// share its bytes; one that is not contiguous is copied in row-major order. What is no tensor is
/// noted. Nothing of the file is run (weights/pickle). Errors name the file: kNotFound, kIo,
/// kCorrupt; kUnsupported for the format of before PyTorch 1.6, for compressed entries, and for
/// what pickles may hold besides.
Result<TensorList> open_torch(const std::filesystem::path& path);

/// The files of a pytorch_model.bin.index.json, which lie beside it, as one.
Result<TensorList> open_torch_index(const std::filesystem::path& path);

/// Adds the tensors of a file in memory, which must outlive the list; `name` goes in front of
/// errors.
Result<void> read_torch(TensorList& list, std::span<const std::byte> file, std::string_view name);

}  // namespace signalbox::weights
