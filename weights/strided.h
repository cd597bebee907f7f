#pragma once
// Copies arrays with arbitrary strides to row-major order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weights/tensor.h"

namespace signalbox::weights {

/// Copies the elements of `shape`, each `element` bytes, in row-major order. The element at index
/// (i, j, ...) is at storage position offset + i strides[0] + j strides[1] + ..., in elements. A
/// transpose has the strides (1, columns). Requires at least one element, one stride per extent,
/// and that all positions are inside the storage.
std::vector<std::byte> gather(std::span<const std::byte> storage, size_t element, int64_t offset,
                              std::span<const int64_t> shape, std::span<const int64_t> strides);

}  // namespace signalbox::weights
