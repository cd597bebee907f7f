// Packs int8 weights. One layout for all tiers, so that a file can hold it.

#include "kernels/body/linear_i8.h"
#include "kernels/kernels.h"

namespace signalbox::kernels {

using body::kColumnsI8;
using body::kDepthI8;

int64_t quantized_row_bytes(int32_t cols) {
  return body::quantized_stride(cols);
}

int64_t packed_linear_i8_bytes(int32_t in, int32_t out) {
  return (out + kColumnsI8 - 1) / kColumnsI8 * body::panel_bytes_i8(in);
}

void pack_linear_i8(int32_t in, int32_t out, const int8_t* w, const float* scales, void* packed) {
  const int64_t depths = body::quantized_stride(in) / kDepthI8;
  for (int64_t p = 0; p * kColumnsI8 < out; ++p) {
    const body::PanelI8 panel(packed, in, p);
    auto* panel_scales = const_cast<float*>(panel.scales);
    auto* corrections = const_cast<int32_t*>(panel.corrections);
    auto* weights = const_cast<int8_t*>(panel.weights);
    for (int64_t c = 0; c < kColumnsI8; ++c) {
      const int64_t column = p * kColumnsI8 + c;
      int32_t sum = 0;
      for (int64_t k = 0; k < depths * kDepthI8; ++k) {
        const int8_t value = column < out && k < in ? w[column * in + k] : int8_t{0};
        weights[(k / kDepthI8 * kColumnsI8 + c) * kDepthI8 + k % kDepthI8] = value;
        sum += value;
      }
      panel_scales[c] = column < out ? scales[column] : 0.0f;
      corrections[c] = 128 * sum;
    }
  }
}

}  // namespace signalbox::kernels
