#pragma once
// Writes the safetensors format that weights/safetensors reads.

#include <filesystem>
#include <span>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Writes tensors with unique names to a temporary file, reads it back, compares every byte and
/// renames it to `path`. After an error, `path` is unchanged. The data begins at a multiple of 64
/// bytes, as does each tensor whose size is a multiple of 64. Errors name the path: kIo; kTooLarge
/// above the format's 100 MB of header; kInternal if the tensors read back differ.
Result<void> write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace signalbox::weights
