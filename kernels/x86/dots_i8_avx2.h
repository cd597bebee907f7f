#pragma once
// Dot products of one row of bytes with others, for AVX2. Bytes are widened to 16 bits, so that
// pairs of products are exact in 32 bits. AVX2's byte instruction saturates.

#include <immintrin.h>

#include "kernels/body/dots_i8.h"

namespace signalbox::kernels::x86 {

struct Avx2DotsI8 {
  template <int Rows>
  static void run(int32_t cols, const uint8_t* q, const uint8_t* const* rows, int32_t* sums) {
    __m256i acc[Rows];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r] = _mm256_setzero_si256();
    int32_t i = 0;
    for (; i + 16 <= cols; i += 16) {
      const __m256i x = sixteen_i8(q + i);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(x, sixteen_i8(rows[r] + i)));
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      alignas(32) int32_t lanes[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), acc[r]);
      int32_t sum = 0;
      for (const int32_t lane : lanes) sum += lane;
      for (int32_t k = i; k < cols; ++k) sum += (q[k] - 128) * (rows[r][k] - 128);
      sums[r] = sum;
    }
  }

 private:
  [[gnu::always_inline]] static __m256i sixteen_i8(const uint8_t* p) {
    return _mm256_sub_epi16(
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
        _mm256_set1_epi16(128));
  }
};

}  // namespace signalbox::kernels::x86
