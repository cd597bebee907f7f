#pragma once
// Writer of the safetensors format, whose reader is weights/safetensors.

#include <filesystem>
#include <span>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Writes the tensors, whose names are unique, to a file beside `path`, reads it back, compares
/// every byte, and renames it to `path`: after an error `path` is what it was. The data begins at a
/// multiple of 64 bytes, and so does each tensor whose size is one. Errors name the path: kIo,
/// kTooLarge over the format's 100 MB of header, kInternal when the tensors read back differ.
Result<void> write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace signalbox::weights
