#pragma once
// The types of ggml's tensors: what a block of numbers takes and what numbers it means. Formulas:
// https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c, dequantize_row_*.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Bytes of a tensor. kUnsupported naming the type when it is not built; kCorrupt when its rows,
/// along the last dimension, are no whole blocks.
Result<uint64_t> ggml_bytes(uint32_t type, const Shape& shape);

/// F32, F16 or BF16; none for a type in blocks.
std::optional<Dtype> ggml_plain_dtype(uint32_t type);

/// Whole blocks as floats in memory. Precondition: a type that ggml_bytes() knows and that is no
/// plain one.
std::vector<std::byte> ggml_widen(uint32_t type, std::span<const std::byte> blocks);

}  // namespace signalbox::weights
