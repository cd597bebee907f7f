#pragma once
// Dot products of one row of bytes with other rows at arbitrary addresses. Four rows at a time
// share the loads of the first row, while the next rows are prefetched. The tier supplies the
// innermost block.

#include <cstdint>

namespace signalbox::kernels::body {

/// Number of rows to prefetch. The hardware prefetcher only follows sequential addresses.
inline constexpr int32_t kRowsAheadI8 = 4;

template <class Block>
void dots_i8(int32_t n, int32_t cols, const uint8_t* q, const uint8_t* const* rows, int32_t* sums) {
  const auto fetch = [&](int32_t from, int32_t to) {
    for (int32_t r = from; r < to && r < n; ++r) {
      for (int32_t i = 0; i < cols; i += 64) __builtin_prefetch(rows[r] + i);
    }
  };
  fetch(0, kRowsAheadI8);
  int32_t r = 0;
  for (; r + 4 <= n; r += 4) {
    fetch(r + kRowsAheadI8, r + kRowsAheadI8 + 4);
    Block::template run<4>(cols, q, rows + r, sums + r);
  }
  for (; r < n; ++r) Block::template run<1>(cols, q, rows + r, sums + r);
}

struct PlainDotsI8 {
  template <int Rows>
  static void run(int32_t cols, const uint8_t* q, const uint8_t* const* rows, int32_t* sums) {
    for (int r = 0; r < Rows; ++r) {
      int32_t sum = 0;
      for (int32_t i = 0; i < cols; ++i) sum += (q[i] - 128) * (rows[r][i] - 128);
      sums[r] = sum;
    }
  }
};

}  // namespace signalbox::kernels::body
