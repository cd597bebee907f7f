#pragma once
// Rows of floats to 8-bit integers, as the int8 product reads them: symmetric, one scale a row, and
// shifted by 128 to be unsigned, because the processor's dot product of bytes takes one unsigned
// and one signed operand.

#include <cmath>
#include <cstdint>

#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

// Bytes of one quantised row: the dot product takes four at a time.
[[gnu::always_inline]] inline int64_t quantized_stride(int64_t cols) {
  return (cols + 3) / 4 * 4;
}

template <class Arch>
float largest_magnitude(int64_t n, const float* x) {
  Batch<Arch> largest(0.0f);
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    largest = xsimd::max(largest, xsimd::abs(load_at<Arch>(x, i, part)));
  });
  return max_lane<Arch>(largest);
}

// Only multiplications and roundings that IEEE 754 fixes, so that every tier gives the same bytes.
template <class Arch>
void quantize_rows(int32_t rows, int32_t cols, const float* x, uint8_t* q, float* scales) {
  const int64_t stride = quantized_stride(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, q += stride) {
    const float largest = largest_magnitude<Arch>(cols, x);
    const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    scales[r] = largest / 127.0f;
    for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
      const auto scaled = load_at<Arch>(x, i, part) * Batch<Arch>(inverse);
      const auto bounded =
          xsimd::min(xsimd::max(scaled, Batch<Arch>(-127.0f)), Batch<Arch>(127.0f));
      alignas(64) int32_t lanes[kLanes<Arch>];
      xsimd::nearbyint_as_int(bounded).store_aligned(lanes);
      for (int64_t k = 0; k < part; ++k) q[i + k] = static_cast<uint8_t>(lanes[k] + 128);
    });
    for (int64_t i = cols; i < stride; ++i) q[i] = 128;
  }
}

}  // namespace signalbox::kernels::body
