#pragma once
// Exact 32-bit dot products of pairs of 16-bit integers for attention on arm64, which has no
// instruction for a pair: the two halves of the pairs are multiplied one after the other. Six rows
// by 16 columns use 24 of the 32 registers as accumulators.

#include <arm_neon.h>

#include "kernels/body/attention_i16.h"
#include "kernels/body/linear.h"

namespace signalbox::kernels::arm {

struct DotsI16 {
  static constexpr int64_t kRows = 6;

  static void run(int64_t rows, int64_t pairs, const int16_t* a, int64_t a_stride, const int16_t* w,
                  int32_t* sums, int64_t sums_stride) {
    for (int64_t c = 0; c < body::kColumnsI16; c += 16) {
      body::with_rows<kRows>(rows, [&]<int Rows>() {
        block<Rows>(pairs, a, a_stride, w + 2 * c, sums + c, sums_stride);
      });
    }
  }

 private:
  template <int Rows>
  [[gnu::noinline]] static void block(int64_t pairs, const int16_t* a, int64_t a_stride,
                                      const int16_t* w, int32_t* sums, int64_t sums_stride) {
    int32x4_t acc[Rows][4];  // four columns each
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) acc[r][c] = vdupq_n_s32(0);
    }
    for (int64_t p = 0; p < pairs; ++p, w += 2 * body::kColumnsI16) {
      const int16x8x2_t w0 = vld2q_s16(w), w1 = vld2q_s16(w + 16);
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        int32_t pair;
        std::memcpy(&pair, a + r * a_stride + 2 * p, sizeof pair);
        const int16x4_t x = vreinterpret_s16_s32(vdup_n_s32(pair));
        add<0>(acc[r], w0.val[0], w1.val[0], x);
        add<1>(acc[r], w0.val[1], w1.val[1], x);
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) vst1q_s32(sums + r * sums_stride + 4 * c, acc[r][c]);
    }
  }

  template <int kLane>
  [[gnu::always_inline]] static void add(int32x4_t (&acc)[4], int16x8_t w0, int16x8_t w1,
                                         int16x4_t x) {
    acc[0] = vmlal_lane_s16(acc[0], vget_low_s16(w0), x, kLane);
    acc[1] = vmlal_high_lane_s16(acc[1], w0, x, kLane);
    acc[2] = vmlal_lane_s16(acc[2], vget_low_s16(w1), x, kLane);
    acc[3] = vmlal_high_lane_s16(acc[3], w1, x, kLane);
  }
};

}  // namespace signalbox::kernels::arm
