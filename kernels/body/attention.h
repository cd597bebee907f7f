#pragma once
// Softmax attention of one sequence, head by head. The keys of a head are transposed once, so that
// scores run along the lanes; a block of queries shares each load of keys and values. Every row is
// summed in the same order whatever the block, so a token's result does not depend on its
// neighbours.

#include <cmath>
#include <limits>

#include "kernels/body/vector.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

inline constexpr int32_t kQueryBlock = 4;
inline constexpr int32_t kScratchLanes = 16;  // score rows are padded to the widest tier

inline int64_t padded_tokens(int32_t tokens) {
  return (static_cast<int64_t>(tokens) + kScratchLanes - 1) / kScratchLanes * kScratchLanes;
}

// scores (Queries, padded) = scale q k^T for Queries rows of q; kt (head_dim, padded).
template <class Arch, int Queries>
void score_rows(const AttentionShape& shape, const float* q, int64_t q_stride, const float* kt,
                float scale, float* scores) {
  const int64_t padded = padded_tokens(shape.tokens);
  for (int64_t t = 0; t < padded; t += kLanes<Arch>) {
    Batch<Arch> sums[Queries];
    for (int i = 0; i < Queries; ++i) sums[i] = Batch<Arch>(0.0f);
    for (int64_t d = 0; d < shape.head_dim; ++d) {
      const Batch<Arch> keys = Batch<Arch>::load_unaligned(kt + d * padded + t);
      for (int i = 0; i < Queries; ++i)
        sums[i] = xsimd::fma(Batch<Arch>(q[i * q_stride + d]), keys, sums[i]);
    }
    for (int i = 0; i < Queries; ++i) {
      (sums[i] * Batch<Arch>(scale)).store_unaligned(scores + i * padded + t);
    }
  }
}

// In place, the weights of one row before division by their sum, which is returned. row (padded).
template <class Arch>
float exponentials(int32_t tokens, float* row) {
  const int64_t padded = padded_tokens(tokens);
  for (int64_t t = tokens; t < padded; ++t) row[t] = -std::numeric_limits<float>::infinity();
  Batch<Arch> largest(-std::numeric_limits<float>::infinity());
  for (int64_t t = 0; t < padded; t += kLanes<Arch>) {
    largest = xsimd::max(largest, Batch<Arch>::load_unaligned(row + t));
  }
  const Batch<Arch> top(max_lane<Arch>(largest));
  Batch<Arch> sum(0.0f);
  for (int64_t t = 0; t < padded; t += kLanes<Arch>) {
    const Batch<Arch> weight = xsimd::exp(Batch<Arch>::load_unaligned(row + t) - top);
    weight.store_unaligned(row + t);
    sum += weight;
  }
  return xsimd::hadd(sum);
}

// out (Queries, head_dim) = weights v / sums, with v strided.
template <class Arch, int Queries>
void mix_values(const AttentionShape& shape, const float* weights, const float* sums,
                const float* v, int64_t v_stride, float* out, int64_t out_stride) {
  const int64_t padded = padded_tokens(shape.tokens);
  for_lanes<Arch>(shape.head_dim, [&](int64_t d, int64_t part) {
    Batch<Arch> mixed[Queries];
    for (int i = 0; i < Queries; ++i) mixed[i] = Batch<Arch>(0.0f);
    for (int64_t t = 0; t < shape.tokens; ++t) {
      const Batch<Arch> values = load_at<Arch>(v + t * v_stride, d, part);
      for (int i = 0; i < Queries; ++i) {
        mixed[i] = xsimd::fma(Batch<Arch>(weights[i * padded + t]), values, mixed[i]);
      }
    }
    for (int i = 0; i < Queries; ++i) {
      store_at<Arch>(mixed[i] * Batch<Arch>(1.0f / sums[i]), out + i * out_stride, d, part);
    }
  });
}

template <class Arch, int Queries>
void attend_block(const AttentionShape& shape, const float* q, const float* kt, const float* v,
                  int64_t stride, float scale, float* scores, float* out, int64_t out_stride) {
  float sums[Queries];
  score_rows<Arch, Queries>(shape, q, stride, kt, scale, scores);
  for (int i = 0; i < Queries; ++i) {
    sums[i] = exponentials<Arch>(shape.tokens, scores + i * padded_tokens(shape.tokens));
  }
  mix_values<Arch, Queries>(shape, scores, sums, v, stride, out, out_stride);
}

template <class Arch>
void attention(const AttentionShape& shape, const float* qkv, float* scratch, float* out) {
  const int64_t hidden = static_cast<int64_t>(shape.heads) * shape.head_dim;
  const int64_t stride = 3 * hidden;  // from one token's q, k or v to the next token's
  const int64_t padded = padded_tokens(shape.tokens);
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  float* kt = scratch;                                // (head_dim, padded)
  float* scores = scratch + shape.head_dim * padded;  // (kQueryBlock, padded)
  for (int32_t head = 0; head < shape.heads; ++head) {
    const float* q = qkv + static_cast<int64_t>(head) * shape.head_dim;
    const float* k = q + hidden;
    const float* v = k + hidden;
    float* head_out = out + static_cast<int64_t>(head) * shape.head_dim;
    for (int64_t d = 0; d < shape.head_dim; ++d) {
      for (int64_t t = 0; t < padded; ++t)
        kt[d * padded + t] = t < shape.tokens ? k[t * stride + d] : 0.0f;
    }
    int64_t t = 0;
    for (; t + kQueryBlock <= shape.tokens; t += kQueryBlock) {
      attend_block<Arch, kQueryBlock>(shape, q + t * stride, kt, v, stride, scale, scores,
                                      head_out + t * hidden, hidden);
    }
    for (; t < shape.tokens; ++t) {
      attend_block<Arch, 1>(shape, q + t * stride, kt, v, stride, scale, scores,
                            head_out + t * hidden, hidden);
    }
  }
}

}  // namespace signalbox::kernels::body
