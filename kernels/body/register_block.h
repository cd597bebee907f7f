#pragma once
// The innermost product in single precision: a block of rows by two registers of columns. The
// accumulators stay in registers throughout the loop over k. Each output is one accumulator that
// sums in the order of k, so a row's result has the same bits regardless of the other rows.

#include <cstring>

#include "kernels/body/ahead.h"
#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

inline constexpr int kBlockBatches = 2;

// Columns of a block.
template <class Arch>
inline constexpr int64_t kPanel = kBlockBatches* kLanes<Arch>;

// Rows of a block: with two batches of columns per row, as many accumulators as fit in the register
// file together with a panel and a broadcast value.
template <class Arch>
inline constexpr int kBlockRows = kRegisters<Arch> == 32 ? 12 : 6;

// Computes y (Rows, kPanel) = x (Rows, depth) w (depth, kPanel), or += if kAdds; each matrix has a
// row stride. The loops over the accumulators must be unrolled: otherwise the compiler keeps them
// in memory, at a third of the speed. Fetches is Ahead or NothingAhead.
template <class Arch, int Rows, bool kAdds, class Fetches>
[[gnu::noinline]] void register_block(int64_t depth, const float* x, int64_t x_stride,
                                      const float* w, int64_t w_stride, float* y, int64_t y_stride,
                                      Fetches ahead) {
  Batch<Arch> sums[Rows][kBlockBatches];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kBlockBatches; ++c) {
      if constexpr (kAdds) {
        sums[r][c] = Batch<Arch>::load_unaligned(y + r * y_stride + c * kLanes<Arch>);
      } else {
        sums[r][c] = Batch<Arch>(0.0f);
      }
    }
  }
  for (int64_t k = 0; k < depth; ++k, w += w_stride) {
    ahead.fetch();
    const auto w0 = Batch<Arch>::load_unaligned(w);
    const auto w1 = Batch<Arch>::load_unaligned(w + kLanes<Arch>);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Batch<Arch> value(x[r * x_stride + k]);
      sums[r][0] = xsimd::fma(value, w0, sums[r][0]);
      sums[r][1] = xsimd::fma(value, w1, sums[r][1]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kBlockBatches; ++c)
      sums[r][c].store_unaligned(y + r * y_stride + c * kLanes<Arch>);
  }
}

// register_block() for any number of rows, with data in cache. It uses blocks of Rows, then each
// smaller size at most once. There are few sizes because each is a page of code.
template <class Arch, bool kAdds, int Rows = kBlockRows<Arch>>
void register_blocks(int64_t rows, int64_t depth, const float* x, int64_t x_stride, const float* w,
                     int64_t w_stride, float* y, int64_t y_stride) {
  for (; rows >= Rows; rows -= Rows, x += Rows * x_stride, y += Rows * y_stride) {
    register_block<Arch, Rows, kAdds>(depth, x, x_stride, w, w_stride, y, y_stride, NothingAhead{});
  }
  if constexpr (Rows > 1) {
    constexpr int kSmaller = Rows > 8 ? 8 : Rows > 4 ? 4 : Rows / 2;
    if (rows > 0) {
      register_blocks<Arch, kAdds, kSmaller>(rows, depth, x, x_stride, w, w_stride, y, y_stride);
    }
  }
}

}  // namespace signalbox::kernels::body
