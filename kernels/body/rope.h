#pragma once
// Rotary positions: each pair of dimensions is rotated by its angle. All heads share a token's
// cosines and sines, so they come from a table.

#include "kernels/body/vector.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

// Rotates x (head_dim) in place; half = head_dim / 2.
template <class Arch>
inline void rotate(int64_t half, const float* cosines, const float* sines, float* x) {
  for_lanes<Arch>(half, [&](int64_t i, int64_t part) {
    const Batch<Arch> a = load_at<Arch>(x, i, part), b = load_at<Arch>(x + half, i, part);
    const Batch<Arch> c = load_at<Arch>(cosines, i, part), s = load_at<Arch>(sines, i, part);
    store_at<Arch>(a * c - b * s, x, i, part);
    store_at<Arch>(b * c + a * s, x + half, i, part);
  });
}

template <class Arch>
void rope(const AttentionShape& shape, const float* rotations, float* qkv) {
  const int64_t dim = shape.head_dim, half = dim / 2;
  for (int64_t t = 0; t < shape.tokens; ++t) {
    const float* cosines = rotations + t * dim;
    float* queries_and_keys = qkv + t * shape.qkv_width();
    for (int64_t head = 0; head < shape.heads + shape.key_heads(); ++head) {
      rotate<Arch>(half, cosines, cosines + half, queries_and_keys + head * dim);
    }
  }
}

}  // namespace signalbox::kernels::body
