// Packs weights and biases into the layout of panel.h, which all tiers share.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/body/narrow.h"
#include "kernels/body/panel.h"
#include "kernels/kernels.h"

namespace signalbox::kernels {
namespace {

using body::kPanelColumns;

// Returns the output for column c of a panel, or -1 if there is none.
int64_t output_of(int64_t panel, int64_t c, int64_t out, bool gated) {
  if (!gated) return panel * kPanelColumns + c < out ? panel * kPanelColumns + c : -1;
  constexpr int64_t kHalf = kPanelColumns / 2;
  const int64_t place = panel * kHalf + c % kHalf;
  if (place >= out / 2) return -1;
  return c < kHalf ? place : out / 2 + place;
}

float scale_of(int64_t in, const float* row) {
  float largest = 0;
  for (int64_t k = 0; k < in; ++k) largest = std::max(largest, std::abs(row[k]));
  return largest / 127.0f;
}

void put(float value, float, float* to) {
  *to = value;
}
void put(float value, float, uint16_t* to) {
  *to = body::narrow(value);
}
void put(float value, float scale, int8_t* to) {
  const float exact = scale > 0 ? std::nearbyint(value / scale) : 0.0f;
  *to = static_cast<int8_t>(std::clamp(exact, -127.0f, 127.0f));
}

// Packs one column of a panel: row (in), or null for zeros.
template <class Format>
void pack_column(int64_t in, const float* row, int64_t c, char* panel) {
  using Weight = typename Format::Weight;
  constexpr int64_t kDepth = Format::kDepth;
  auto* weights = reinterpret_cast<Weight*>(panel + Format::kHeaderBytes);
  const float scale = row != nullptr && Format::kHeaderBytes > 0 ? scale_of(in, row) : 0.0f;
  int32_t sum = 0;
  for (int64_t k = 0; k < body::row_stride<Format>(in); ++k) {
    Weight* to = weights + (k / kDepth * kPanelColumns + c) * kDepth + k % kDepth;
    put(row != nullptr && k < in ? row[k] : 0.0f, scale, to);
    if constexpr (Format::kHeaderBytes > 0) sum += *to;
  }
  if constexpr (Format::kHeaderBytes > 0) {
    reinterpret_cast<float*>(panel)[c] = scale;
    reinterpret_cast<int32_t*>(panel)[kPanelColumns + c] = 128 * sum;
  }
}

template <class Format>
void pack(int64_t in, int64_t out, const float* w, char* packed, bool gated) {
  for (int64_t p = 0; p < body::panels_of(out, gated); ++p) {
    char* panel = packed + p * body::panel_bytes<Format>(in);
    for (int64_t c = 0; c < kPanelColumns; ++c) {
      const int64_t output = output_of(p, c, out, gated);
      pack_column<Format>(in, output < 0 ? nullptr : w + output * in, c, panel);
    }
  }
}

float value_of(float weight, float) {
  return weight;
}
float value_of(uint16_t weight, float) {
  return std::bit_cast<float>(static_cast<uint32_t>(weight) << 16);
}
float value_of(int8_t weight, float scale) {
  return static_cast<float>(weight) * scale;
}

template <class Format>
void unpack(int64_t in, int64_t out, const char* packed, float* w, bool gated) {
  constexpr int64_t kDepth = Format::kDepth;
  for (int64_t p = 0; p < body::panels_of(out, gated); ++p) {
    const body::Panel<Format> panel(packed, in, p);
    const auto* weights = reinterpret_cast<const typename Format::Weight*>(panel.steps);
    for (int64_t c = 0; c < kPanelColumns; ++c) {
      const int64_t output = output_of(p, c, out, gated);
      if (output < 0) continue;
      const float scale = Format::kHeaderBytes > 0 ? panel.scales()[c] : 0.0f;
      for (int64_t k = 0; k < in; ++k) {
        w[output * in + k] =
            value_of(weights[(k / kDepth * kPanelColumns + c) * kDepth + k % kDepth], scale);
      }
    }
  }
}

}  // namespace

int64_t quantized_row_bytes(int32_t cols) {
  return body::row_stride<body::I8>(cols);
}

void narrow_bf16(int64_t n, const float* x, void* y) {
  auto* bytes = static_cast<char*>(y);
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t value = body::narrow(x[i]);
    std::memcpy(bytes + 2 * i, &value, sizeof value);
  }
}

int64_t bf16_scratch(const LinearShape& shape) {
  return shape.rows * body::row_stride<body::BF16>(shape.in);
}

int64_t packed_linear_bytes(Format format, int32_t in, int32_t out, bool gated) {
  const int64_t panels = body::panels_of(out, gated);
  switch (format) {
    case Format::kF32:
      return panels * body::panel_bytes<body::F32>(in);
    case Format::kBF16:
      return panels * body::panel_bytes<body::BF16>(in);
    case Format::kI8:
      return panels * body::panel_bytes<body::I8>(in);
  }
  return 0;
}

void pack_linear(Format format, int32_t in, int32_t out, const float* w, void* packed, bool gated) {
  auto* bytes = static_cast<char*>(packed);
  switch (format) {
    case Format::kF32:
      return pack<body::F32>(in, out, w, bytes, gated);
    case Format::kBF16:
      return pack<body::BF16>(in, out, w, bytes, gated);
    case Format::kI8:
      return pack<body::I8>(in, out, w, bytes, gated);
  }
}

bool has_finite_scales(Format format, int32_t in, int32_t out, const void* packed, bool gated) {
  if (format != Format::kI8) return true;
  for (int64_t p = 0; p < body::panels_of(out, gated); ++p) {
    const float* scales = body::Panel<body::I8>(packed, in, p).scales();
    if (!std::all_of(scales, scales + kPanelColumns, [](float x) { return std::isfinite(x); }))
      return false;
  }
  return true;
}

void unpack_linear(Format format, int32_t in, int32_t out, const void* packed, float* w,
                   bool gated) {
  const auto* bytes = static_cast<const char*>(packed);
  switch (format) {
    case Format::kF32:
      return unpack<body::F32>(in, out, bytes, w, gated);
    case Format::kBF16:
      return unpack<body::BF16>(in, out, bytes, w, gated);
    case Format::kI8:
      return unpack<body::I8>(in, out, bytes, w, gated);
  }
}

int64_t packed_bias_size(int32_t out, bool gated) {
  return body::panels_of(out, gated) * kPanelColumns;
}

void pack_bias(int32_t out, const float* bias, float* packed, bool gated) {
  for (int64_t i = 0; i < packed_bias_size(out, gated); ++i) {
    const int64_t output = output_of(i / kPanelColumns, i % kPanelColumns, out, gated);
    packed[i] = output < 0 ? 0.0f : bias[output];
  }
}

}  // namespace signalbox::kernels
