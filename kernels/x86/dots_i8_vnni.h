#pragma once
// Dot products of one row of bytes with others, for AVX-512 VNNI. The instruction takes one
// unsigned and one signed operand. The other rows stay shifted by 128 and the one row is shifted
// back. The shift then adds 128 times the sum of that row, which is computed once and subtracted
// from each result.

#include <immintrin.h>

#include "kernels/body/dots_i8.h"

namespace signalbox::kernels::x86 {

struct VnniDotsI8 {
  template <int Rows>
  static void run(int32_t cols, const uint8_t* q, const uint8_t* const* rows, int32_t* sums) {
    const __m512i shift = _mm512_set1_epi8(static_cast<char>(0x80));
    __m512i added = _mm512_setzero_si512();
    __m512i acc[Rows];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r] = _mm512_setzero_si512();
    int32_t i = 0;
    for (; i + 64 <= cols; i += 64) {
      const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(q + i), shift);
      added = _mm512_dpbusd_epi32(added, shift, x);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        acc[r] = _mm512_dpbusd_epi32(acc[r], _mm512_loadu_si512(rows[r] + i), x);
    }
    if (i < cols) {
      const __mmask64 mask = ~uint64_t{0} >> (64 - (cols - i));
      const __m512i x = _mm512_maskz_loadu_epi8(mask, q + i);
      const __m512i back = _mm512_maskz_sub_epi8(mask, x, shift);
      added = _mm512_dpbusd_epi32(added, shift, back);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        acc[r] = _mm512_dpbusd_epi32(acc[r], _mm512_maskz_loadu_epi8(mask, rows[r] + i), back);
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
      sums[r] = _mm512_reduce_add_epi32(_mm512_sub_epi32(acc[r], added));
  }
};

}  // namespace signalbox::kernels::x86
