#pragma once
// The int8 block for AVX2. The byte instruction of AVX2 saturates between the products and their
// sum, so bytes are first widened to 16 bits, where pairs of products are exact in 32 bits. It
// processes sixteen columns at a time: four registers of weights are widened once for three rows. A
// column's four products form two adjacent sums, which are added at the end.

#include <immintrin.h>

#include "kernels/body/linear_i8.h"

namespace signalbox::kernels::x86 {

struct Avx2ProductI8 {
  using Format = body::I8;
  using X = uint8_t;
  using Sum = int32_t;
  static constexpr int64_t kRows = 3;
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
  template <int Rows, bool kAdds>
  [[gnu::noinline]] static void sixteen_columns(int64_t steps, const uint8_t* q, int64_t stride,
                                                const int8_t* weights, int32_t* sums,
                                                body::Ahead ahead) {
    __m256i acc[Rows][4];  // four columns each
#pragma GCC unroll 3
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) acc[r][c] = _mm256_setzero_si256();
    }
    for (int64_t k = 0; k < steps; ++k, weights += body::kStepBytes) {
      ahead.fetch();
      __m256i x[Rows];
#pragma GCC unroll 3
      for (int r = 0; r < Rows; ++r) {
        int32_t four;
        std::memcpy(&four, q + r * stride + k * Format::kDepth, sizeof four);
        x[r] = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
      }
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        const __m256i w = _mm256_cvtepi8_epi16(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + 16 * c)));
#pragma GCC unroll 3
        for (int r = 0; r < Rows; ++r) {
          acc[r][c] = _mm256_add_epi32(acc[r][c], _mm256_madd_epi16(x[r], w));
        }
      }
    }
#pragma GCC unroll 3
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < 4; c += 2) {
        // Column order within each half of a register: 0 1 4 5, then 2 3 6 7.
        const __m256i pairs = _mm256_hadd_epi32(acc[r][c], acc[r][c + 1]);
        __m256i eight = _mm256_permute4x64_epi64(pairs, 0b11011000);
        auto* out = reinterpret_cast<__m256i*>(sums + r * body::kPanelColumns + 4 * c);
        if constexpr (kAdds) eight = _mm256_add_epi32(eight, _mm256_loadu_si256(out));
        _mm256_storeu_si256(out, eight);
      }
    }
  }
};

}  // namespace signalbox::kernels::x86
