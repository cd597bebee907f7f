#pragma once
// Byte products on registers only, with as many sums as in linear_i8_vnni.h.

#include <immintrin.h>

#include <cstdint>

namespace signalbox::kernels::x86 {

[[gnu::always_inline]] inline int64_t peak_loop_i8_vnni(int64_t steps, const float* in,
                                                        float* out) {
  constexpr int kSums = 24;
  const __m512i x = _mm512_set1_epi8(static_cast<char>(in[1]));
  __m512i sums[kSums];
  // Each sum has a different start value. Otherwise the compiler would keep only one sum.
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_epi32(i);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], x, x);
  }
  // The sums are stored and then added. If they are added in registers, g++ 12 copies each sum at
  // every step.
  alignas(64) int32_t lanes[kSums][16];
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) _mm512_storeu_si512(lanes[i], sums[i]);
  *out = 0;
  for (const auto& row : lanes) *out += static_cast<float>(row[0]);
  return steps * kSums * 64;
}

}  // namespace signalbox::kernels::x86
