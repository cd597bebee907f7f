#pragma once
// Multiply-adds on registers only. It runs as many independent sums as a register block does.

#include "kernels/body/register_block.h"
#include "kernels/peak_loop.h"

namespace signalbox::kernels::body {

template <class Arch>
int64_t peak_loop(int64_t steps, const float* in, float* out) {
  constexpr int kSums = kBlockRows<Arch> * kBlockBatches;
  const Batch<Arch> factor(in[0]), term(in[1]);
  Batch<Arch> sums[kSums];
  // Each sum has a different start value. Otherwise the compiler would keep only one sum.
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = Batch<Arch>(in[1] * static_cast<float>(i));
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = xsimd::fma(sums[i], factor, term);
  }
  Batch<Arch> total(0.0f);
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) total = total + sums[i];
  *out = max_lane<Arch>(total);
  return steps * kSums * kLanes<Arch>;
}

}  // namespace signalbox::kernels::body
