#pragma once
// y = x w^T with both factors in 8 bits: x quantised by row as it comes (quantize.h), w by output
// channel when it is packed. The sums are integers and exact, so every tier gives the same bits,
// and all tiers share one packed layout, which files can hold:
//
//   panels of 64 columns, each  scales (64) f32, corrections (64) i32, weights (in / 4, 64, 4) i8
//
// with columns past `out` and k past `in` zero. x is shifted by 128 to be unsigned; a column's
// correction is 128 times the sum of its weights, which takes the shift away again.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/body/quantize.h"

namespace signalbox::kernels::body {

inline constexpr int64_t kColumnsI8 = 64;
inline constexpr int64_t kDepthI8 = 4;

[[gnu::always_inline]] inline int64_t panel_bytes_i8(int64_t in) {
  return kColumnsI8 * (sizeof(float) + sizeof(int32_t) + quantized_stride(in));
}

/// One panel of a packed matrix.
struct PanelI8 {
  const float* scales;         // (64)
  const int32_t* corrections;  // (64)
  const int8_t* weights;       // (in / 4, 64, 4)

  [[gnu::always_inline]] PanelI8(const void* packed, int64_t in, int64_t index) {
    const auto* bytes = static_cast<const char*>(packed) + index * panel_bytes_i8(in);
    scales = reinterpret_cast<const float*>(bytes);
    corrections = reinterpret_cast<const int32_t*>(bytes + kColumnsI8 * sizeof(float));
    weights = reinterpret_cast<const int8_t*>(bytes + 2 * kColumnsI8 * sizeof(float));
  }
};

// One place for the arithmetic behind the sums, so that it is the same on every tier: two
// multiplications and no addition that a compiler could fuse with them.
template <class Blocks>
void dequantize_row(const PanelI8& panel, const int32_t* sums, float scale, int64_t columns,
                    float* y) {
  for (int64_t c = 0; c < columns; ++c) {
    y[c] = static_cast<float>(sums[c] - panel.corrections[c]) * (panel.scales[c] * scale);
  }
}

/// Blocks are a tier's: kRows, and run<Rows>, sums (Rows, 64) of q (Rows, stride) with a panel's
/// weights.
template <class Blocks, int Rows = Blocks::kRows>
void linear_i8_rows(int64_t rows, int64_t in, const uint8_t* q, const float* scales,
                    const PanelI8& panel, int64_t columns, float* y, int64_t y_stride) {
  const int64_t stride = quantized_stride(in);
  alignas(64) int32_t sums[Rows * kColumnsI8];
  for (; rows >= Rows; rows -= Rows, q += Rows * stride, scales += Rows, y += Rows * y_stride) {
    Blocks::template run<Rows>(stride / kDepthI8, q, stride, panel.weights, sums);
    for (int64_t r = 0; r < Rows; ++r) {
      dequantize_row<Blocks>(panel, sums + r * kColumnsI8, scales[r], columns, y + r * y_stride);
    }
  }
  if constexpr (Rows > 1) {
    constexpr int kSmaller = Rows > 4 ? 4 : Rows / 2;
    if (rows > 0) {
      linear_i8_rows<Blocks, kSmaller>(rows, in, q, scales, panel, columns, y, y_stride);
    }
  }
}

template <class Blocks>
void linear_i8(int32_t rows, int32_t in, int32_t out, const uint8_t* q, const float* scales,
               const void* packed, float* y) {
  for (int64_t p = 0; p * kColumnsI8 < out; ++p) {
    const int64_t first = p * kColumnsI8;
    linear_i8_rows<Blocks>(rows, in, q, scales, PanelI8(packed, in, p),
                           std::min(kColumnsI8, out - first), y + first, out);
  }
}

/// For any processor.
struct PlainBlocksI8 {
  static constexpr int kRows = 1;

  template <int Rows>
  static void run(int64_t depths, const uint8_t* q, int64_t, const int8_t* weights, int32_t* sums) {
    std::memset(sums, 0, kColumnsI8 * sizeof(int32_t));
    for (int64_t k = 0; k < depths; ++k, q += kDepthI8) {
      for (int64_t c = 0; c < kColumnsI8; ++c, weights += kDepthI8) {
        sums[c] += q[0] * weights[0] + q[1] * weights[1] + q[2] * weights[2] + q[3] * weights[3];
      }
    }
  }
};

}  // namespace signalbox::kernels::body
