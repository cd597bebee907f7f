#pragma once
// The layout of packed weights w (out, in), the same on every tier so that a file can hold them:
//
//   panels of 64 columns (outputs), each  header, steps (ceil(in / depth), 64, depth)
//
// Gated weights combine two halves of the outputs after the product: each panel then holds 32
// columns of the first half and the matching 32 of the second half.
//
// A step holds as many consecutive k as fill 256 bytes: depth 1 in f32, 2 in bf16, 4 in i8. Columns
// past `out` and k past `in` are zero. Only i8 has a header: scales (64) f32, corrections (64) i32.
// Its activations are shifted by 128 to be unsigned. A correction is 128 times the sum of a
// column's weights; subtracting it removes the effect of the shift.

#include <cstdint>

namespace signalbox::kernels::body {

inline constexpr int64_t kPanelColumns = 64;
inline constexpr int64_t kStepBytes = 256;

// Steps before the next rows: 24 KB, half a first-level cache. A Product may have its own number.
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

/// Returns the distance between rows of activations, in elements.
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
