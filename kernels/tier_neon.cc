// NEON with the dot product of bytes. Single precision needs no more than the base tier.

#include "kernels/arm/dots_i16.h"
#include "kernels/arm/dots_i8.h"
#include "kernels/arm/linear_i8_dot.h"
#include "kernels/arm/peak_i8.h"
#include "kernels/peak_loop.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_neon(Table& table) {
  using Arch = xsimd::neon64;
  table.linear_i8 = body::linear_i8<Arch, arm::DotProductI8>;
  table.attention_i16 = body::attention_i16<Arch, arm::DotsI16>;
  table.dots_i8 = body::dots_i8<arm::DotsI8>;
}

int64_t peak_loop_i8_neon(int64_t steps, const float* in, float* out) {
  return arm::peak_loop_i8(steps, 16, in, out,
                           [](int32x4_t sum, int8x16_t x) { return vdotq_s32(sum, x, x); });
}

}  // namespace signalbox::kernels
