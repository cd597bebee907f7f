#pragma once
// Exact 32-bit dot products of pairs of 16-bit integers for attention: rows by 32 columns in the
// registers of AVX2 or AVX-512 (a product and an addition), or VNNI (one instruction).

#include <immintrin.h>

#include "kernels/body/attention_i16.h"
#include "kernels/body/linear.h"

namespace signalbox::kernels::x86 {

#if defined(__AVX512F__)

template <class Fused>
struct Avx512DotsI16 {
  static constexpr int64_t kRows = 12;

  static void run(int64_t rows, int64_t pairs, const int16_t* a, int64_t a_stride, const int16_t* w,
                  int32_t* sums, int64_t sums_stride) {
    body::with_rows<kRows>(
        rows, [&]<int Rows>() { block<Rows>(pairs, a, a_stride, w, sums, sums_stride); });
  }

 private:
  template <int Rows>
  [[gnu::noinline]] static void block(int64_t pairs, const int16_t* a, int64_t a_stride,
                                      const int16_t* w, int32_t* sums, int64_t sums_stride) {
    __m512i acc[Rows][2];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm512_setzero_si512();
    for (int64_t p = 0; p < pairs; ++p, w += 2 * body::kColumnsI16) {
      const __m512i w0 = _mm512_loadu_si512(w);
      const __m512i w1 = _mm512_loadu_si512(w + body::kColumnsI16);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        int32_t pair;
        std::memcpy(&pair, a + r * a_stride + 2 * p, sizeof pair);
        const __m512i value = _mm512_set1_epi32(pair);
        acc[r][0] = Fused::dot(acc[r][0], value, w0);
        acc[r][1] = Fused::dot(acc[r][1], value, w1);
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      _mm512_storeu_si512(sums + r * sums_stride, acc[r][0]);
      _mm512_storeu_si512(sums + r * sums_stride + 16, acc[r][1]);
    }
  }
};

struct PlainDot {
  [[gnu::always_inline]] static __m512i dot(__m512i sum, __m512i a, __m512i b) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
  }
};

#if defined(__AVX512VNNI__)
struct VnniDot {
  [[gnu::always_inline]] static __m512i dot(__m512i sum, __m512i a, __m512i b) {
    return _mm512_dpwssd_epi32(sum, a, b);
  }
};
#endif

#elif defined(__AVX2__)

struct Avx2DotsI16 {
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
    __m256i acc[Rows][2];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm256_setzero_si256();
    for (int64_t p = 0; p < pairs; ++p, w += 2 * body::kColumnsI16) {
      const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
      const __m256i w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 16));
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        int32_t pair;
        std::memcpy(&pair, a + r * a_stride + 2 * p, sizeof pair);
        const __m256i value = _mm256_set1_epi32(pair);
        acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(value, w0));
        acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(value, w1));
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + r * sums_stride), acc[r][0]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + r * sums_stride + 8), acc[r][1]);
    }
  }
};

#endif

}  // namespace signalbox::kernels::x86
