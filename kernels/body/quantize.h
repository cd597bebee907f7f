#pragma once
// Quantises rows of floats to 8-bit integers for the int8 product. The quantisation is symmetric
// with one scale per row. Values are shifted by 128 to be unsigned, because the processor's byte
// dot product takes one unsigned and one signed operand.

#include <cmath>
#include <cstdint>

#include "kernels/body/panel.h"
#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

// Four maxima at a time, because each waits for the one before.
template <class Arch>
[[gnu::always_inline]] inline float largest_magnitude(int64_t n, const float* x) {
  constexpr int64_t kStep = 4 * kLanes<Arch>;
  Batch<Arch> largest[4] = {Batch<Arch>(0.0f), Batch<Arch>(0.0f), Batch<Arch>(0.0f),
                            Batch<Arch>(0.0f)};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part)
      largest[part] = xsimd::max(
          largest[part], xsimd::abs(Batch<Arch>::load_unaligned(x + i + part * kLanes<Arch>)));
  }
  for_lanes<Arch>(n - i, [&](int64_t at, int64_t part) {
    largest[0] = xsimd::max(largest[0], xsimd::abs(load_at<Arch>(x + i, at, part)));
  });
  return max_lane<Arch>(
      xsimd::max(xsimd::max(largest[0], largest[1]), xsimd::max(largest[2], largest[3])));
}

// Uses only multiplications and roundings defined by IEEE 754, so every tier gives the same bytes.
// The integers pass through a short array, because the compiler narrows a whole array efficiently
// at any width.
template <class Arch>
void quantize_rows(int32_t rows, int32_t cols, const float* x, uint8_t* q, float* scales) {
  constexpr int64_t kChunk = 64;
  const int64_t stride = row_stride<I8>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, q += stride) {
    const float largest = largest_magnitude<Arch>(cols, x);
    const Batch<Arch> inverse(largest > 0 ? 127.0f / largest : 0.0f);
    scales[r] = largest / 127.0f;
    const auto integers = [&](int64_t i, int64_t part) {
      const auto scaled = load_at<Arch>(x, i, part) * inverse;
      const auto bounded =
          xsimd::min(xsimd::max(scaled, Batch<Arch>(-127.0f)), Batch<Arch>(127.0f));
      return xsimd::nearbyint_as_int(bounded) + 128;
    };
    alignas(64) int32_t wide[kChunk];
    int64_t i = 0;
    for (; i + kChunk <= cols; i += kChunk) {
      for (int64_t c = 0; c < kChunk; c += kLanes<Arch>)
        integers(i + c, kLanes<Arch>).store_aligned(wide + c);
      for (int64_t c = 0; c < kChunk; ++c) q[i + c] = static_cast<uint8_t>(wide[c]);
    }
    for_lanes<Arch>(cols - i, [&](int64_t c, int64_t part) {
      integers(i + c, part).store_aligned(wide);
      for (int64_t k = 0; k < part; ++k) q[i + c + k] = static_cast<uint8_t>(wide[k]);
    });
    for (i = cols; i < stride; ++i) q[i] = 128;
  }
}

}  // namespace signalbox::kernels::body
