#pragma once
// Dot products of one row of bytes with others, for arm64 with the dot product of bytes. Both rows
// are shifted back by 128.

#include <arm_neon.h>

#include "kernels/body/dots_i8.h"

namespace signalbox::kernels::arm {

struct DotsI8 {
  template <int Rows>
  static void run(int32_t cols, const uint8_t* q, const uint8_t* const* rows, int32_t* sums) {
    int32x4_t acc[Rows];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r] = vdupq_n_s32(0);
    int32_t i = 0;
    for (; i + 16 <= cols; i += 16) {
      const int8x16_t x = sixteen(q + i);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) acc[r] = vdotq_s32(acc[r], x, sixteen(rows[r] + i));
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      int32_t sum = vaddvq_s32(acc[r]);
      for (int32_t k = i; k < cols; ++k) sum += (q[k] - 128) * (rows[r][k] - 128);
      sums[r] = sum;
    }
  }

 private:
  [[gnu::always_inline]] static int8x16_t sixteen(const uint8_t* p) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(128)));
  }
};

}  // namespace signalbox::kernels::arm
