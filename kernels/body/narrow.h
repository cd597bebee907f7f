#pragma once
// Converts single precision to bfloat16, rounding to nearest even. It uses integer operations so
// that the compiler can vectorise it at any width.

#include <bit>
#include <cstdint>

#include "kernels/body/panel.h"

namespace signalbox::kernels::body {

// Takes the upper half after adding just under half of the lowest kept bit, plus one if that bit is
// odd. A NaN stays a NaN: otherwise rounding its mantissa up could turn it into infinity.
[[gnu::always_inline]] inline uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | 0x0040u;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

// y (rows, cols rounded up to a pair), x (rows, cols).
[[gnu::always_inline]] inline void narrow_rows(int64_t rows, int64_t cols, const float* x,
                                               uint16_t* y) {
  const int64_t stride = row_stride<BF16>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += stride) {
    for (int64_t i = 0; i < cols; ++i) y[i] = narrow(x[i]);
    for (int64_t i = cols; i < stride; ++i) y[i] = 0;
  }
}

}  // namespace signalbox::kernels::body
