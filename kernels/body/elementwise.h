#pragma once
// Sums, activations, dot products and means. Each makes one pass over the data.

#include <cmath>

#include "kernels/body/erf.h"
#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

template <class Arch>
void add(int64_t n, const float* x, float* y) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(load_at<Arch>(y, i, part) + load_at<Arch>(x, i, part), y, i, part);
  });
}

template <class Arch>
inline Batch<Arch> gelu_of(const Batch<Arch>& v) {
  const Batch<Arch> h = Batch<Arch>(0.5f) * v;
  return xsimd::fma(h, erf_of<Arch>(v * Batch<Arch>(0.70710678118654752f)), h);
}

/// v times the logistic function of `u`. A large negative u gives zero.
template <class Arch>
inline Batch<Arch> times_logistic(const Batch<Arch>& v, const Batch<Arch>& u) {
  return v / (Batch<Arch>(1.0f) + xsimd::exp(-u));
}

template <class Arch>
inline Batch<Arch> silu_of(const Batch<Arch>& v) {
  return times_logistic<Arch>(v, v);
}

// (1 + tanh(t)) / 2 is the logistic function of 2t; the constants are 2 sqrt(2/pi) and 0.044715.
template <class Arch>
inline Batch<Arch> gelu_tanh_of(const Batch<Arch>& v) {
  const Batch<Arch> cubic = xsimd::fma(v * v, Batch<Arch>(0.044715f), Batch<Arch>(1.0f));
  return times_logistic<Arch>(v, v * cubic * Batch<Arch>(1.5957691216057308f));
}

template <class Arch>
void gelu(int64_t n, float* x) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(gelu_of<Arch>(load_at<Arch>(x, i, part)), x, i, part);
  });
}

template <class Arch>
void gelu_tanh(int64_t n, float* x) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(gelu_tanh_of<Arch>(load_at<Arch>(x, i, part)), x, i, part);
  });
}

template <class Arch>
void tanh(int64_t n, float* x) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(xsimd::tanh(load_at<Arch>(x, i, part)), x, i, part);
  });
}

template <class Arch>
void relu(int64_t n, float* x) {
  for_lanes<Arch>(n, [&](int64_t i, int64_t part) {
    store_at<Arch>(xsimd::max(load_at<Arch>(x, i, part), Batch<Arch>(0.0f)), x, i, part);
  });
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
