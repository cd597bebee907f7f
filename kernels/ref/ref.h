#pragma once
// Reference implementation of the kernel table in plain double precision. It is slow and serves
// tests and benchmarks.

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace signalbox::kernels::ref {

using Vector = std::vector<double>;

Vector linear(int32_t rows, int32_t in, int32_t out, const float* x, const float* w);
Vector gelu(const Vector& x);
Vector gelu_tanh(const Vector& x);
Vector silu(const Vector& x);
Vector rope(const AttentionShape& shape, const float* rotations, const float* qkv);
Vector layer_norm(int32_t rows, int32_t cols, const float* gamma, const float* beta, double eps,
                  const Vector& x);
Vector rms_norm(int32_t rows, int32_t cols, const float* gamma, double eps, const Vector& x);
Vector attention(const AttentionShape& shape, const float* qkv,
                 const DistanceTerms* terms = nullptr);
Vector mean_rows(int32_t rows, int32_t cols, const float* x);

/// Returns the value of IEEE half-precision bits.
double half_value(uint16_t bits);

}  // namespace signalbox::kernels::ref
