// The byte loop for kernels/peak.h, compiled with the flags of tier_i8mm.cc.

#include "kernels/arm/peak_i8.h"
#include "kernels/peak_loop.h"

namespace signalbox::kernels {

int64_t peak_loop_i8_i8mm(int64_t steps, const float* in, float* out) {
  return arm::peak_loop_i8(steps, 32, in, out, [](int32x4_t sum, int8x16_t x) {
    return vusmmlaq_s32(sum, vreinterpretq_u8_s8(x), x);
  });
}

}  // namespace signalbox::kernels
