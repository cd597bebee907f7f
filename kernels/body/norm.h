#pragma once
// Layer normalisation and its form without a mean. The first computes the mean first and then the
// variance of the centred row. This takes two passes over a row in cache, but the one-pass form
// loses precision when the mean is large.

#include <cmath>

#include "kernels/body/elementwise.h"
#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

template <class Arch>
void normalize_row(int32_t cols, const float* gamma, const float* beta, float eps, const float* row,
                   float* out) {
  Batch<Arch> sum(0.0f);
  for_lanes<Arch>(cols, [&](int64_t i, int64_t part) { sum += load_at<Arch>(row, i, part); });
  const float mean = xsimd::hadd(sum) / static_cast<float>(cols);
  Batch<Arch> squares(0.0f);
  for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
    const Batch<Arch> centred = part == kLanes<Arch>
                                    ? Batch<Arch>::load_unaligned(row + i) - Batch<Arch>(mean)
                                    : load_part<Arch>(row + i, part, mean) - Batch<Arch>(mean);
    squares = xsimd::fma(centred, centred, squares);
  });
  const float variance = xsimd::hadd(squares) / static_cast<float>(cols);
  const Batch<Arch> scale(1.0f / std::sqrt(variance + eps));
  for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
    const Batch<Arch> normal = (load_at<Arch>(row, i, part) - Batch<Arch>(mean)) * scale;
    store_at<Arch>(xsimd::fma(normal, load_at<Arch>(gamma, i, part), load_at<Arch>(beta, i, part)),
                   out, i, part);
  });
}

template <class Arch>
void layer_norm(int32_t rows, int32_t cols, const float* gamma, const float* beta, float eps,
                const float* x, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    normalize_row<Arch>(cols, gamma, beta, eps, x + r * cols, y + r * cols);
  }
}

template <class Arch>
void rms_norm(int32_t rows, int32_t cols, const float* gamma, float eps, const float* x, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const float mean = dot<Arch>(cols, x, x) / static_cast<float>(cols);
    const Batch<Arch> scale(1.0f / std::sqrt(mean + eps));
    for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
      const Batch<Arch> normal = load_at<Arch>(x, i, part) * scale;
      store_at<Arch>(normal * load_at<Arch>(gamma, i, part), y, i, part);
    });
  }
}

}  // namespace signalbox::kernels::body
