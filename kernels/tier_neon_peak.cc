// The byte loop for kernels/peak.h, compiled with the flags of tier_neon.cc.

#include "kernels/arm/peak_i8.h"
#include "kernels/peak_loop.h"

namespace signalbox::kernels {

int64_t peak_loop_i8_neon(int64_t steps, const float* in, float* out) {
  return arm::peak_loop_i8(steps, 16, in, out,
                           [](int32x4_t sum, int8x16_t x) { return vdotq_s32(sum, x, x); });
}

}  // namespace signalbox::kernels
