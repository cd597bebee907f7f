#pragma once
// The bf16 block for processors with AVX512-BF16: two products and their sum in one instruction.

#include <immintrin.h>

#include "kernels/body/linear_bf16_dots.h"

namespace signalbox::kernels::x86 {

struct DotProductBF16 {
  using Format = body::BF16;
  using X = uint16_t;
  using Sum = float;
  static constexpr int64_t kRows = 6;
  static constexpr int64_t kPasses = 1;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const uint16_t* x, int64_t stride,
                  const uint16_t* weights, float* sums, body::Ahead ahead) {
    body::with_rows<kRows>(
        rows, [&]<int Rows>() { block<Rows, kAdds>(steps, x, stride, weights, sums, ahead); });
  }

 private:
  template <int Rows, bool kAdds>
  [[gnu::noinline]] static void block(int64_t steps, const uint16_t* x, int64_t stride,
                                      const uint16_t* weights, float* sums, body::Ahead ahead) {
    constexpr int kRegisters = 4;  // of 16 columns each
    __m512 acc[Rows][kRegisters];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        if constexpr (kAdds) {
          acc[r][c] = _mm512_loadu_ps(sums + r * body::kPanelColumns + 16 * c);
        } else {
          acc[r][c] = _mm512_setzero_ps();
        }
      }
    }
    for (int64_t k = 0; k < steps; ++k, weights += body::kPanelColumns * Format::kDepth) {
      ahead.fetch();
      __m512i w[kRegisters];
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) w[c] = _mm512_loadu_si512(weights + 32 * c);
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        int32_t pair;
        std::memcpy(&pair, x + r * stride + k * Format::kDepth, sizeof pair);
        const auto value = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 4
        for (int c = 0; c < kRegisters; ++c) {
          acc[r][c] = _mm512_dpbf16_ps(acc[r][c], value, reinterpret_cast<__m512bh>(w[c]));
        }
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kRegisters; ++c) {
        _mm512_storeu_ps(sums + r * body::kPanelColumns + 16 * c, acc[r][c]);
      }
    }
  }
};

}  // namespace signalbox::kernels::x86
