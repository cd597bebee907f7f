#pragma once
// Row-major copies of arrays that are stored in another order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weights/tensor.h"

namespace signalbox::weights {

/// The elements of `shape`, of `element` bytes each, row-major; the one at index (i, j, ...) stands
/// at (offset + i strides[0] + j strides[1] + ...) elements of the storage. A transpose is the
/// strides (1, columns). Precondition: the shape has at least one element, as many strides as
/// extents, and reaches nowhere outside the storage.
std::vector<std::byte> gather(std::span<const std::byte> storage, size_t element, int64_t offset,
                              std::span<const int64_t> shape, std::span<const int64_t> strides);

}  // namespace signalbox::weights
