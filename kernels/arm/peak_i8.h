#pragma once
// Products on registers only, with as many sums as a block has. Ops has zero-initialised registers
// of sums and multiply() as in the blocks.

#include <arm_neon.h>

#include <cstdint>

namespace signalbox::kernels::arm {

template <class Multiply>
[[gnu::always_inline]] inline int64_t peak_loop_i8(int64_t steps, int64_t products, const float* in,
                                                   float* out, const Multiply& multiply) {
  constexpr int kSums = 24;
  const int8x16_t x = vdupq_n_s8(static_cast<int8_t>(in[1]));
  int32x4_t sums[kSums];
  // Each sum has a different start value. Otherwise the compiler would keep only one sum.
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = vdupq_n_s32(i);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = multiply(sums[i], x);
  }
  *out = 0;
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) *out += static_cast<float>(vgetq_lane_s32(sums[i], 0));
  return steps * kSums * products;
}

}  // namespace signalbox::kernels::arm
