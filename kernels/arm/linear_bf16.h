#pragma once
// The bf16 block for arm64 with the matrix product of bfloat16: four products for each of four sums
// in one instruction.

#include "kernels/arm/matrix_block.h"
#include "kernels/body/linear_bf16_dots.h"

namespace signalbox::kernels::arm {

struct MatrixOpsBF16 {
  using Format = body::BF16;
  using X = uint16_t;
  using Sum = float;
  using Register = float32x4_t;

  [[gnu::always_inline]] static Register zero() { return vdupq_n_f32(0.0f); }
  [[gnu::always_inline]] static Register multiply(Register acc, uint32x4_t x, uint32x4_t w) {
    return vbfmmlaq_f32(acc, vreinterpretq_bf16_u32(x), vreinterpretq_bf16_u32(w));
  }
  [[gnu::always_inline]] static Register first_row(Register left, Register right) {
    return vcombine_f32(vget_low_f32(left), vget_low_f32(right));
  }
  [[gnu::always_inline]] static Register second_row(Register left, Register right) {
    return vcombine_f32(vget_high_f32(left), vget_high_f32(right));
  }
  template <bool kAdds>
  [[gnu::always_inline]] static void store(Register four, Sum* sums) {
    vst1q_f32(sums, kAdds ? vaddq_f32(vld1q_f32(sums), four) : four);
  }
};

using MatrixProductBF16 = MatrixProduct<MatrixOpsBF16>;

}  // namespace signalbox::kernels::arm
