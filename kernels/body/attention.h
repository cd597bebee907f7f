#pragma once
// Softmax attention of one sequence, head by head, without a full score matrix. The keys and values
// of a head are packed in panels like weights, so both products use the same register block. A tile
// of queries iterates over tiles of keys. For each query it keeps the largest score so far, the sum
// of the exponentials and the weighted sum of the values. When a larger score appears, the earlier
// sums are scaled down.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/body/attention_tiles.h"
#include "kernels/body/distance.h"
#include "kernels/body/register_block.h"
#include "kernels/body/vector.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

inline int64_t attention_scratch(const AttentionShape& shape) {
  const int64_t dim = shape.head_dim;
  const int64_t padded_dim = round_up(dim, kPanelMax);
  return dim * round_up(shape.tokens, kPanelMax) + padded_dim * shape.tokens +
         kQueryTile * (dim + padded_dim + 2) + kScoreRows * (kKeyTile + padded_dim) +
         dim * distance_columns(shape) + distance_products(shape);
}

// One head of one sequence.
template <class Arch>
class HeadAttention {
 public:
  HeadAttention(const AttentionShape& shape, int32_t head, const DistanceTerms* terms,
                float* scratch)
      : tokens_(shape.tokens),
        dim_(shape.head_dim),
        padded_dim_(round_up(shape.head_dim, kPanel<Arch>)),
        reach_(shape),
        stride_(shape.qkv_width()),
        scale_(score_scale(shape)),
        terms_(shape, head, terms),
        keys_(scratch),
        values_(keys_ + dim_ * round_up(tokens_, kPanelMax)),
        queries_(values_ + padded_dim_ * tokens_),
        mixed_(queries_ + kQueryTile * dim_),
        largest_(mixed_ + kQueryTile * padded_dim_),
        sums_(largest_ + kQueryTile),
        scores_(sums_ + kQueryTile),
        update_(scores_ + kScoreRows * kKeyTile),
        distances_(update_ + kScoreRows * padded_dim_),
        by_query_(distances_ + dim_ * distance_columns(shape)),
        by_key_(by_query_ + kQueryTile * terms_.stride()) {}

  // q, k and v point to the first token; rows of out are out_stride apart.
  void run(const float* q, const float* k, const float* v, float* out, int64_t out_stride) {
    pack_keys(k, stride_, tokens_, 1.0f, keys_);
    pack_values(v);
    if (terms_.queries() != nullptr) multiply_keys(k);
    if (terms_.keys() != nullptr)
      pack_keys(terms_.keys(), terms_.width(), terms_.count(), 1.0f, distances_);
    for (int64_t first = 0; first < tokens_; first += kQueryTile) {
      const int64_t count = std::min(kQueryTile, tokens_ - first);
      begin_queries(q + first * stride_, count);
      attend(first, count);
      finish_queries(count, out + first * out_stride, out_stride);
    }
  }

 private:
  // Layout (panels, dim, kPanel); keys past the last are zero.
  void pack_keys(const float* k, int64_t stride, int64_t count, float scale, float* panels) const {
    for (int64_t t = 0; t < round_up(count, kPanel<Arch>); ++t) {
      float* to = panels + t / kPanel<Arch> * kPanel<Arch> * dim_ + t % kPanel<Arch>;
      for (int64_t d = 0; d < dim_; ++d)
        to[d * kPanel<Arch>] = t < count ? k[t * stride + d] * scale : 0.0f;
    }
  }

  // Multiplies the keys by the queries of all distances.
  void multiply_keys(const float* k) {
    pack_keys(terms_.queries(), terms_.width(), terms_.count(), scale_, distances_);
    multiply_distances(tokens_, k, stride_, by_key_);
  }

  // y (rows, terms_.stride()) = x (rows, dim) times the packed vectors of the distances.
  void multiply_distances(int64_t rows, const float* x, int64_t x_stride, float* y) {
    for (int64_t c = 0; c < terms_.count(); c += kPanel<Arch>) {
      register_blocks<Arch, false>(rows, dim_, x, x_stride, distances_ + c * dim_, kPanel<Arch>,
                                   y + c, terms_.stride());
    }
  }

  // Layout (panels, tokens, kPanel); dimensions past the last are zero.
  void pack_values(const float* v) {
    float* to = values_;
    for (int64_t first = 0; first < padded_dim_; first += kPanel<Arch>) {
      const int64_t here = std::min(kPanel<Arch>, dim_ - first);
      for (int64_t t = 0; t < tokens_; ++t, to += kPanel<Arch>) {
        for (int64_t i = 0; i < kPanel<Arch>; ++i)
          to[i] = i < here ? v[t * stride_ + first + i] : 0.0f;
      }
    }
  }

  void begin_queries(const float* q, int64_t count) {
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t d = 0; d < dim_; ++d) queries_[r * dim_ + d] = q[r * stride_ + d] * scale_;
      largest_[r] = -std::numeric_limits<float>::infinity();
      sums_[r] = 0.0f;
    }
    std::fill_n(mixed_, count * padded_dim_, 0.0f);
    if (terms_.keys() != nullptr) multiply_distances(count, queries_, dim_, by_query_);
  }

  void finish_queries(int64_t count, float* out, int64_t out_stride) {
    for (int64_t r = 0; r < count; ++r) {
      const Batch<Arch> scale(1.0f / sums_[r]);
      for_lanes<Arch>(dim_, [&](int64_t d, int64_t part) {
        const auto mixed = Batch<Arch>::load_unaligned(mixed_ + r * padded_dim_ + d);
        store_at<Arch>(mixed * scale, out + r * out_stride, d, part);
      });
    }
  }

  void attend(int64_t first_query, int64_t queries) {
    walk_keys(tokens_, reach_, first_query, queries, kBlockRows<Arch>, kPanel<Arch>,
              [&](const AttentionBlock& block) { attend_block(block); });
  }

  void attend_block(const AttentionBlock& block) {
    const int64_t row = block.row, rows = block.rows, begin = block.begin, end = block.end;
    for (int64_t key = begin; key < end; key += kPanel<Arch>) {
      register_blocks<Arch, false>(rows, dim_, queries_ + row * dim_, dim_, keys_ + key * dim_,
                                   kPanel<Arch>, scores_ + key - begin, kKeyTile);
    }
    float corrections[kBlockRows<Arch>];
    for (int64_t r = 0; r < rows; ++r) {
      terms_.template add<Arch>(block.query + r, begin, end - begin, 1.0f,
                                by_query_ + (row + r) * terms_.stride(), by_key_,
                                scores_ + r * kKeyTile);
      corrections[r] = exponentials(scores_ + r * kKeyTile, round_up(end - begin, kPanel<Arch>),
                                    block.first_visible(r), block.last_visible(r), row + r);
    }
    for (int64_t d = 0; d < padded_dim_; d += kPanel<Arch>) {
      register_blocks<Arch, false>(rows, end - begin, scores_, kKeyTile,
                                   values_ + d * tokens_ + begin * kPanel<Arch>, kPanel<Arch>,
                                   update_ + d, padded_dim_);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const Batch<Arch> correction(corrections[r]);
      float* mixed = mixed_ + (row + r) * padded_dim_;
      for (int64_t d = 0; d < padded_dim_; d += kLanes<Arch>) {
        const auto update = Batch<Arch>::load_unaligned(update_ + r * padded_dim_ + d);
        xsimd::fma(Batch<Arch>::load_unaligned(mixed + d), correction, update)
            .store_unaligned(mixed + d);
      }
    }
  }

  // Converts the scores (columns) of query r in place to weights relative to the largest score so
  // far. Columns outside [visible, visible_end) get weight zero. Returns the factor by which
  // earlier sums must be multiplied.
  float exponentials(float* scores, int64_t columns, int64_t visible, int64_t visible_end,
                     int64_t r) {
    if (visible >= visible_end) {
      std::fill_n(scores, columns, 0.0f);
      return 1.0f;
    }
    const float hidden = -std::numeric_limits<float>::infinity();
    std::fill(scores, scores + visible, hidden);
    std::fill(scores + visible_end, scores + columns, hidden);
    Batch<Arch> tops(largest_[r]);
    for (int64_t c = 0; c < columns; c += kLanes<Arch>)
      tops = xsimd::max(tops, Batch<Arch>::load_unaligned(scores + c));
    const float largest = max_lane<Arch>(tops);
    const Batch<Arch> top(largest);
    Batch<Arch> sum(0.0f);
    for (int64_t c = 0; c < columns; c += kLanes<Arch>) {
      const Batch<Arch> weight = xsimd::exp(Batch<Arch>::load_unaligned(scores + c) - top);
      weight.store_unaligned(scores + c);
      sum += weight;
    }
    const float correction = std::exp(largest_[r] - largest);
    sums_[r] = sums_[r] * correction + xsimd::hadd(sum);
    largest_[r] = largest;
    return correction;
  }

  const int64_t tokens_, dim_, padded_dim_;
  const Reach reach_;
  const int64_t stride_;  // from one token's q, k or v to the next token's
  const float scale_;     // of the scores
  const HeadTerms terms_;
  float* const keys_;       // (key panels, dim, kPanel)
  float* const values_;     // (dimension panels, tokens, kPanel)
  float* const queries_;    // (kQueryTile, dim), scaled
  float* const mixed_;      // (kQueryTile, padded_dim): running sums of exponentials times values
  float* const largest_;    // (kQueryTile): largest scores so far
  float* const sums_;       // (kQueryTile): running sums of the exponentials
  float* const scores_;     // (rows, kKeyTile)
  float* const update_;     // (rows, padded_dim)
  float* const distances_;  // (distance panels, dim, kPanel): queries or keys of the distances
  float* const by_query_;   // (kQueryTile, terms_.stride()): products of a tile's queries
  float* const by_key_;     // (tokens, terms_.stride()): products of the keys
};

template <class Arch>
void attention(const AttentionShape& shape, int32_t head, const float* qkv,
               const DistanceTerms* terms, float* scratch, float* out) {
  const HeadPlaces at(shape, head);
  HeadAttention<Arch>(shape, head, terms, scratch)
      .run(qkv + at.query, qkv + at.key, qkv + at.value, out + at.query,
           int64_t{shape.heads} * shape.head_dim);
}

}  // namespace signalbox::kernels::body
