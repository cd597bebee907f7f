// Iterates over all indices except the last, and copies along the last.

#include "weights/strided.h"

#include <cstring>

namespace signalbox::weights {

std::vector<std::byte> gather(std::span<const std::byte> storage, size_t element, int64_t offset,
                              std::span<const int64_t> shape, std::span<const int64_t> strides) {
  size_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  std::vector<std::byte> out(n * element);
  const size_t rank = shape.size();
  const int64_t run = rank == 0 ? 1 : shape[rank - 1];
  const int64_t step = rank == 0 ? 1 : strides[rank - 1];
  Shape index(rank, 0);
  for (size_t at = 0; at < n; at += run) {
    int64_t from = offset;
    for (size_t i = 0; i + 1 < rank; ++i) from += index[i] * strides[i];
    for (int64_t k = 0; k < run; ++k) {
      std::memcpy(out.data() + (at + k) * element, storage.data() + (from + k * step) * element,
                  element);
    }
    for (size_t i = rank - 1; rank > 1 && i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
  return out;
}

}  // namespace signalbox::weights
