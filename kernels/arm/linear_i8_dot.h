#pragma once
// The int8 block for arm64 with the dot product of bytes: four products and their sum in each of
// four lanes, with the activations of four steps in one register. Both operands are signed, so the
// shift of the activations by 128 is taken back.

#include <arm_neon.h>

#include "kernels/body/linear_i8.h"

namespace signalbox::kernels::arm {

struct DotProductI8 {
  using Format = body::I8;
  using X = uint8_t;
  using Sum = int32_t;
  static constexpr bool kShiftsBack = true;
  static constexpr int64_t kRows = 4;
  static constexpr int64_t kPasses = body::kPanelColumns / 16;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const uint8_t* q, int64_t stride,
                  const int8_t* weights, int32_t* sums, body::Ahead ahead) {
    for (int64_t c = 0; c < body::kPanelColumns; c += 16, ahead = ahead.after(steps)) {
      body::with_rows<kRows>(rows, [&]<int Rows>() {
        sixteen_columns<Rows, kAdds>(steps, q, stride, weights + c * Format::kDepth, sums + c,
                                     ahead);
      });
    }
  }

 private:
  static constexpr int kRegisters = 4;  // of four columns each

  // Adds one step; its activations are in lane kLane of x.
  template <int kLane, int Rows>
  [[gnu::always_inline]] static void step(const int8_t* weights, const int8x16_t (&x)[Rows],
                                          int32x4_t (&acc)[Rows][kRegisters]) {
#pragma GCC unroll 4
    for (int c = 0; c < kRegisters; ++c) {
      const int8x16_t w = vld1q_s8(weights + 16 * c);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) acc[r][c] = vdotq_laneq_s32(acc[r][c], w, x[r], kLane);
    }
  }

  template <int Rows, bool kAdds>
  [[gnu::noinline]] static void sixteen_columns(int64_t steps, const uint8_t* q, int64_t stride,
                                                const int8_t* weights, int32_t* sums,
                                                body::Ahead ahead) {
    const uint8x16_t shift = vdupq_n_u8(128);
    int32x4_t acc[Rows][kRegisters];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        acc[r][c] = kAdds ? vld1q_s32(sums + r * body::kPanelColumns + 4 * c) : vdupq_n_s32(0);
      }
    }
    int8x16_t x[Rows];
    int64_t k = 0;
    for (; k + 4 <= steps; k += 4, weights += 4 * body::kStepBytes) {
      for (int i = 0; i < 4; ++i) ahead.fetch();
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        x[r] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(q + r * stride + 4 * k), shift));
      }
      step<0>(weights, x, acc);
      step<1>(weights + body::kStepBytes, x, acc);
      step<2>(weights + 2 * body::kStepBytes, x, acc);
      step<3>(weights + 3 * body::kStepBytes, x, acc);
    }
    for (; k < steps; ++k, weights += body::kStepBytes) {
      ahead.fetch();
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        uint32_t four;
        std::memcpy(&four, q + r * stride + 4 * k, sizeof four);
        x[r] = vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(vdupq_n_u32(four)), shift));
      }
      step<0>(weights, x, acc);
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        vst1q_s32(sums + r * body::kPanelColumns + 4 * c, acc[r][c]);
      }
    }
  }
};

}  // namespace signalbox::kernels::arm
