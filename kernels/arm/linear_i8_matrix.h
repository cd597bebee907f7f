#pragma once
// The int8 block for arm64 with the matrix product of bytes: unsigned activations, signed weights,
// and eight products for each of four sums in one instruction.

#include "kernels/arm/matrix_block.h"
#include "kernels/body/linear_i8.h"

namespace signalbox::kernels::arm {

struct MatrixOpsI8 {
  using Format = body::I8;
  using X = uint8_t;
  using Sum = int32_t;
  using Register = int32x4_t;

  [[gnu::always_inline]] static Register zero() { return vdupq_n_s32(0); }
  [[gnu::always_inline]] static Register multiply(Register acc, uint32x4_t x, uint32x4_t w) {
    return vusmmlaq_s32(acc, vreinterpretq_u8_u32(x), vreinterpretq_s8_u32(w));
  }
  [[gnu::always_inline]] static Register first_row(Register left, Register right) {
    return vcombine_s32(vget_low_s32(left), vget_low_s32(right));
  }
  [[gnu::always_inline]] static Register second_row(Register left, Register right) {
    return vcombine_s32(vget_high_s32(left), vget_high_s32(right));
  }
  template <bool kAdds>
  [[gnu::always_inline]] static void store(Register four, Sum* sums) {
    vst1q_s32(sums, kAdds ? vaddq_s32(vld1q_s32(sums), four) : four);
  }
};

using MatrixProductI8 = MatrixProduct<MatrixOpsI8>;

}  // namespace signalbox::kernels::arm
