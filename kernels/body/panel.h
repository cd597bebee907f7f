#pragma once
// How weights w (out, in) are packed, for every format and every tier, so that a file can hold
// them:
//
//   panels of 64 columns (outputs), each  header, steps (ceil(in / depth), 64, depth)
// or, gated, when the first half of the outputs (32 of a panel) meets the second half (its other
// 32) behind the product.
//
// A step is as many consecutive k as fill 256 bytes: depth 1 in f32, 2 in bf16, 4 in i8. Columns
// past `out` and k past `in` are zero. Only i8 has a header: scales (64) f32, corrections (64) i32;
// its activations are shifted by 128 to be unsigned, and a correction, 128 times the sum of a
// column's weights, takes the shift away again.

#include <cstdint>

namespace signalbox::kernels::body {

inline constexpr int64_t kPanelColumns = 64;
inline constexpr int64_t kStepBytes = 256;

// Steps that are multiplied before the next rows are taken: 24 KB of weights, half of a first-level
// cache.
inline constexpr int64_t kBlockSteps = 96;

struct F32 {
  using Weight = float;
  static constexpr int64_t kDepth = 1;
  static constexpr int64_t kHeaderBytes = 0;
};

struct BF16 {
  using Weight = uint16_t;
  static constexpr int64_t kDepth = 2;
  static constexpr int64_t kHeaderBytes = 0;
};

struct I8 {
  using Weight = int8_t;
  static constexpr int64_t kDepth = 4;
  static constexpr int64_t kHeaderBytes = kPanelColumns * (sizeof(float) + sizeof(int32_t));
};

template <class Format>
constexpr int64_t steps_of(int64_t in) {
  return (in + Format::kDepth - 1) / Format::kDepth;
}

/// Elements from one row of activations to the next.
template <class Format>
constexpr int64_t row_stride(int64_t in) {
  return steps_of<Format>(in) * Format::kDepth;
}

template <class Format>
constexpr int64_t panel_bytes(int64_t in) {
  return Format::kHeaderBytes + steps_of<Format>(in) * kStepBytes;
}

inline constexpr int64_t panels_of(int64_t out, bool gated) {
  const int64_t columns = gated ? out / 2 : out;
  const int64_t width = gated ? kPanelColumns / 2 : kPanelColumns;
  return (columns + width - 1) / width;
}

/// One panel of a packed matrix.
template <class Format>
struct Panel {
  const char* header;
  const char* steps;  // (steps, 64, depth) of Weight

  template <class Index>
  Panel(const void* packed, int64_t in, Index index)
      : header(static_cast<const char*>(packed) + index * panel_bytes<Format>(in)),
        steps(header + Format::kHeaderBytes) {}

  const float* scales() const { return reinterpret_cast<const float*>(header); }
  const int32_t* corrections() const {
    return reinterpret_cast<const int32_t*>(header + kPanelColumns * sizeof(float));
  }
};

}  // namespace signalbox::kernels::body
