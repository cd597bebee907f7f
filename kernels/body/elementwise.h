#pragma once
// Sums, biases, GELU, dot products and means: one pass over the data each.

#include <cmath>

#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

template <class Arch>
void add(int64_t n, const float* x, float* y) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(load_at<Arch>(y, i, part) + load_at<Arch>(x, i, part), y, i, part);
  });
}

template <class Arch>
void add_bias(int32_t rows, int32_t cols, const float* bias, float* x) {
  for (int64_t r = 0; r < rows; ++r) add<Arch>(cols, bias, x + r * cols);
}

template <class Arch>
void add_bias_gelu(int32_t rows, int32_t cols, const float* bias, float* x) {
  const Batch<Arch> half(0.5f);
  const Batch<Arch> sqrt_half(0.70710678118654752f);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * cols;
    for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
      const Batch<Arch> v = load_at<Arch>(row, i, part) + load_at<Arch>(bias, i, part);
      const Batch<Arch> h = half * v;
      store_at<Arch>(xsimd::fma(h, xsimd::erf(v * sqrt_half), h), row, i, part);
    });
  }
}

template <class Arch>
float dot(int32_t n, const float* x, const float* y) {
  Batch<Arch> sum(0.0f);
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    sum = xsimd::fma(load_at<Arch>(x, i, part), load_at<Arch>(y, i, part), sum);
  });
  return xsimd::hadd(sum);
}

template <class Arch>
void mean_rows(int32_t rows, int32_t cols, const float* x, float* out) {
  const Batch<Arch> scale(1.0f / static_cast<float>(rows));
  for_lanes<Arch>(cols, [&](int64_t i, int64_t part) {
    Batch<Arch> sum(0.0f);
    for (int64_t r = 0; r < rows; ++r) sum += load_at<Arch>(x + r * cols, i, part);
    store_at<Arch>(sum * scale, out, i, part);
  });
}

template <class Arch>
void l2_normalize(int32_t n, float* x) {
  const float norm = std::sqrt(dot<Arch>(n, x, x));
  const Batch<Arch> scale(1.0f / (norm > 1e-12f ? norm : 1e-12f));
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(load_at<Arch>(x, i, part) * scale, x, i, part);
  });
}

}  // namespace signalbox::kernels::body
