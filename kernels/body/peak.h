#pragma once
// Multiply-adds on registers and nothing else, as many independent ones as a register block keeps
// going.

#include "kernels/body/register_block.h"
#include "kernels/peak_loop.h"

namespace signalbox::kernels::body {

template <class Arch>
int64_t peak_loop(int64_t steps, const float* in, float* out) {
  constexpr int kSums = kBlockRows<Arch> * kBlockBatches;
  const Batch<Arch> factor(in[0]), term(in[1]);
  Batch<Arch> sums[kSums];
  // Each begins elsewhere, or the compiler would keep one for all.
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
