#pragma once
// The int8 block for processors with AVX-512 VNNI: four products and their sum in one instruction.
// Six rows by 64 columns use 24 of the 32 registers as accumulators, four for weights and one for
// x.

#include <immintrin.h>

#include <type_traits>

#include "kernels/body/linear_i8.h"

namespace signalbox::kernels::x86 {

struct VnniProductI8 {
  using Format = body::I8;
  using X = uint8_t;
  using Sum = int32_t;
  static constexpr int64_t kRows = 6;
  static constexpr int64_t kPasses = 1;
  // 100 KB of weights, which stream from the second-level cache as fast as they are multiplied.
  // With fewer steps, loading and storing the sums takes more time.
  static constexpr int64_t kBlockSteps = 400;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const uint8_t* q, int64_t stride,
                  const int8_t* weights, int32_t* sums, body::Ahead ahead) {
    body::with_rows<kRows>(rows, [&]<int Rows>() {
      block<Rows, kAdds>(steps, q, stride, weights, sums, ahead, sums);
    });
  }

  template <bool kAdds>
  static void convert(int64_t rows, int64_t steps, const uint8_t* q, int64_t stride,
                      const int8_t* weights, const int32_t* sums, body::Ahead ahead,
                      const body::ConvertedRows& to) {
    body::with_rows<kRows>(
        rows, [&]<int Rows>() { block<Rows, kAdds>(steps, q, stride, weights, sums, ahead, to); });
  }

 private:
  // `to` is a pointer to sums (Rows, 64), or a body::ConvertedRows.
  template <int Rows, bool kAdds, class To>
  [[gnu::noinline]] static void block(int64_t steps, const uint8_t* q, int64_t stride,
                                      const int8_t* weights, const int32_t* sums, body::Ahead ahead,
                                      const To& to) {
    constexpr int kRegisters = 4;  // of 16 columns each
    __m512i acc[Rows][kRegisters];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        if constexpr (kAdds) {
          acc[r][c] = _mm512_loadu_si512(sums + r * body::kPanelColumns + 16 * c);
        } else {
          acc[r][c] = _mm512_setzero_si512();
        }
      }
    }
    for (int64_t k = 0; k < steps; ++k, weights += body::kStepBytes) {
      ahead.fetch();
      __m512i w[kRegisters];
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) w[c] = _mm512_loadu_si512(weights + 64 * c);
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        int32_t four;
        std::memcpy(&four, q + r * stride + k * Format::kDepth, sizeof four);
        const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int c = 0; c < kRegisters; ++c) acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], x, w[c]);
      }
    }
    // Without this, g++ 12 stores the sums to memory at each step if they are converted below.
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) asm("" : "+v"(acc[r][c]));
    }
    if constexpr (std::is_pointer_v<To>) {
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kRegisters; ++c)
          _mm512_storeu_si512(to + r * body::kPanelColumns + 16 * c, acc[r][c]);
      }
    } else {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        const __m512i correction = _mm512_loadu_si512(to.corrections + 16 * c);
        const __m512 scale = _mm512_loadu_ps(to.scales + 16 * c);
#pragma GCC unroll 6
        for (int r = 0; r < Rows; ++r) {
          const __m512 exact = _mm512_cvtepi32_ps(_mm512_sub_epi32(acc[r][c], correction));
          const __m512 scales = _mm512_mul_ps(scale, _mm512_set1_ps(to.row_scales[r]));
          _mm512_storeu_ps(to.y + r * to.stride + 16 * c, _mm512_mul_ps(exact, scales));
        }
      }
    }
  }
};

}  // namespace signalbox::kernels::x86
