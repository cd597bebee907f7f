#pragma once
// ggml's tensor types: the size of a block and how to decode it. The formulas are from
// dequantize_row_* in https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Returns the bytes of a tensor. kUnsupported with the name of an unsupported type; kCorrupt if a
/// row (last dimension) is not a whole number of blocks.
Result<uint64_t> ggml_bytes(uint32_t type, const Shape& shape);

/// Returns F32, F16 or BF16, or nullopt for a block type.
std::optional<Dtype> ggml_plain_dtype(uint32_t type);

/// Decodes whole blocks to F32 bytes. Requires a block type that ggml_bytes() accepts.
std::vector<std::byte> ggml_widen(uint32_t type, std::span<const std::byte> blocks);

}  // namespace signalbox::weights
