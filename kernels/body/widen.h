#pragma once
// Converts half precision and bfloat16 to single precision exactly. It uses integer operations so
// that the compiler can vectorise it at any width. The F16C instruction exists only from AVX2 up,
// where memory already limits loading.

#include <bit>
#include <cstdint>
#include <cstring>

namespace signalbox::kernels::body {

// Moves exponent and mantissa into place and rebiases them by multiplying with 2^112, which also
// normalises subnormals. The exponents of infinities and NaN are set separately. The sign is added
// last.
inline float widen_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7FFFu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = (half & 0x7C00u) == 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

inline void widen_f16(int64_t n, const void* x, float* y) {
  const auto* bytes = static_cast<const unsigned char*>(x);
  for (int64_t i = 0; i < n; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof half);
    y[i] = widen_half(half);
  }
}

inline void widen_bf16(int64_t n, const void* x, float* y) {
  const auto* bytes = static_cast<const unsigned char*>(x);
  for (int64_t i = 0; i < n; ++i) {
    uint16_t high;
    std::memcpy(&high, bytes + 2 * i, sizeof high);
    y[i] = std::bit_cast<float>(static_cast<uint32_t>(high) << 16);
  }
}

}  // namespace signalbox::kernels::body
