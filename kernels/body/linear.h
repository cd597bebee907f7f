#pragma once
// y = x w^T in single precision: a register block of rows by a panel of columns, the whole inner
// dimension at once.
//
// The weights are packed once at load into panels of kPanel output columns, (panels, in, kPanel),
// so that the inner loop reads them in a straight line. Each output is one accumulator fed in the
// order of k, so a row's result is the same bits whatever rows stand beside it. OpenBLAS was tried:
// it packs the weights again at every call, which costs as much as the product when a text has ten
// tokens, and its edge kernels make a row depend on the number of rows.

#include <algorithm>
#include <cstring>

#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

inline constexpr int kPanelBatches = 2;

template <class Arch>
inline constexpr int64_t kPanel = kPanelBatches* kLanes<Arch>;

// Rows of a register block: with two batches of columns each, as many accumulators as the register
// file holds beside a panel and a broadcast. 32 registers from AVX-512 on, 16 before.
template <class Arch>
inline constexpr int kBlockRows = kLanes<Arch> == 16 ? 12 : 6;

// Floats of x that one sweep over the panels should find in the second-level cache.
inline constexpr int64_t kSweepFloats = 96 * 1024;

template <class Arch>
int64_t packed_linear_size(int32_t in, int32_t out) {
  return (out + kPanel<Arch> - 1) / kPanel<Arch> * kPanel<Arch> * in;
}

// w (out, in) to packed (panels, in, kPanel); columns past `out` are zero.
template <class Arch>
void pack_linear(int32_t in, int32_t out, const float* w, float* packed) {
  for (int64_t first = 0; first < out; first += kPanel<Arch>) {
    for (int64_t k = 0; k < in; ++k) {
      for (int64_t c = 0; c < kPanel<Arch>; ++c)
        *packed++ = first + c < out ? w[(first + c) * in + k] : 0.0f;
    }
  }
}

// y (Rows, columns) = x (Rows, in) panel, columns <= kPanel, x and y with a stride from row to row.
// Every loop over the accumulators is unrolled by order: left to itself the compiler keeps them in
// memory, at a third of the speed.
template <class Arch, int Rows>
void linear_block(int64_t in, const float* x, int64_t x_stride, const float* panel, int64_t columns,
                  float* y, int64_t y_stride) {
  Batch<Arch> sums[Rows][kPanelBatches];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kPanelBatches; ++c) sums[r][c] = Batch<Arch>(0.0f);
  }
  for (int64_t k = 0; k < in; ++k) {
    const float* w = panel + k * kPanel<Arch>;
    const auto w0 = Batch<Arch>::load_unaligned(w);
    const auto w1 = Batch<Arch>::load_unaligned(w + kLanes<Arch>);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Batch<Arch> value(x[r * x_stride + k]);
      sums[r][0] = xsimd::fma(value, w0, sums[r][0]);
      sums[r][1] = xsimd::fma(value, w1, sums[r][1]);
    }
  }
  if (columns == kPanel<Arch>) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kPanelBatches; ++c)
        sums[r][c].store_unaligned(y + r * y_stride + c * kLanes<Arch>);
    }
    return;
  }
  alignas(64) float tile[Rows * kPanel<Arch>];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kPanelBatches; ++c)
      sums[r][c].store_aligned(tile + r * kPanel<Arch> + c * kLanes<Arch>);
  }
  for (int64_t r = 0; r < Rows; ++r) {
    std::memcpy(y + r * y_stride, tile + r * kPanel<Arch>, columns * sizeof(float));
  }
}

// linear_block over any number of rows: blocks of Rows, then of each smaller size once at most. Few
// sizes, since each is a page of code.
template <class Arch, int Rows>
void linear_rows(int64_t rows, int64_t in, const float* x, int64_t x_stride, const float* panel,
                 int64_t columns, float* y, int64_t y_stride) {
  for (; rows >= Rows; rows -= Rows, x += Rows * x_stride, y += Rows * y_stride) {
    linear_block<Arch, Rows>(in, x, x_stride, panel, columns, y, y_stride);
  }
  if constexpr (Rows > 1) {
    constexpr int kSmaller = Rows > 8 ? 8 : Rows > 4 ? 4 : Rows / 2;
    if (rows > 0) linear_rows<Arch, kSmaller>(rows, in, x, x_stride, panel, columns, y, y_stride);
  }
}

template <class Arch>
void linear(int32_t rows, int32_t in, int32_t out, const float* x, const float* packed, float* y) {
  constexpr int64_t kRows = kBlockRows<Arch>;
  const int64_t sweep = std::max(kRows, kSweepFloats / in / kRows * kRows);
  for (int64_t top = 0; top < rows; top += sweep) {
    for (int64_t first = 0; first < out; first += kPanel<Arch>) {
      linear_rows<Arch, kRows>(std::min(sweep, rows - top), in, x + top * in, in,
                               packed + first * in, std::min(kPanel<Arch>, out - first),
                               y + top * out + first, out);
    }
  }
}

}  // namespace signalbox::kernels::body
