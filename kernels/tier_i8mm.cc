// The neon tier plus the matrix product of bytes.

#include "kernels/arm/linear_i8_matrix.h"
#include "kernels/arm/peak_i8.h"
#include "kernels/peak_loop.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_i8mm(Table& table) {
  table.linear_i8 = body::linear_i8<xsimd::neon64, arm::MatrixProductI8>;
}

int64_t peak_loop_i8_i8mm(int64_t steps, const float* in, float* out) {
  return arm::peak_loop_i8(steps, 32, in, out, [](int32x4_t sum, int8x16_t x) {
    return vusmmlaq_s32(sum, vreinterpretq_u8_s8(x), x);
  });
}

}  // namespace signalbox::kernels
