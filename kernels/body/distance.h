#pragma once
// The parts of attention's scores that depend on the distance of query and key. The products of a
// token with the vectors of all distances are computed once, at a cost of tokens x distances. A
// score then reads its two products by the distance's row. Consecutive keys mostly have consecutive
// rows, because only far distances share a row.

#include <algorithm>
#include <cstdint>

#include "kernels/body/attention_tiles.h"
#include "kernels/body/vector.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

/// Returns the most rows of the tables that a sequence uses, rounded up to a panel.
inline int64_t distance_columns(const AttentionShape& shape) {
  const int64_t used = std::min<int64_t>(shape.distances, 2 * int64_t{shape.tokens} - 1);
  return round_up(used, kPanelMax);
}

/// Returns the stride of the products, which is not a power of two: tokens would share cache lines.
inline int64_t distance_stride(const AttentionShape& shape) {
  return shape.distances == 0 ? 0 : distance_columns(shape) + 16;
}

/// Returns the floats of the products of a tile's queries and of all keys.
inline int64_t distance_products(const AttentionShape& shape) {
  return (kQueryTile + shape.tokens) * distance_stride(shape);
}

/// Gathers p[index].
template <class Arch>
inline Batch<Arch> gather(const float* p, const xsimd::batch<int32_t, Arch>& index) {
  if constexpr (kLanes<Arch> >= 8) {
    return Batch<Arch>::gather(p, index);
  } else {
    alignas(16) int32_t at[kLanes<Arch>];
    alignas(16) float lanes[kLanes<Arch>];
    index.store_aligned(at);
    for (int64_t i = 0; i < kLanes<Arch>; ++i) lanes[i] = p[at[i]];
    return Batch<Arch>::load_aligned(lanes);
  }
}

/// One head's terms in a sequence. The products have the rows [0, count()) of the sequence's
/// distances.
class HeadTerms {
 public:
  HeadTerms(const AttentionShape& shape, int32_t head, const DistanceTerms* terms)
      : width_(int64_t{shape.heads} * shape.head_dim), stride_(distance_stride(shape)) {
    if (terms == nullptr) return;
    if (terms->bias != nullptr) bias_ = terms->bias + head * terms->bias_stride;
    if (terms->rows == nullptr) return;
    rows_ = terms->rows;
    first_ = rows_[1 - shape.tokens];
    count_ = rows_[shape.tokens - 1] + 1 - first_;
    const int64_t at = first_ * width_ + int64_t{head} * shape.head_dim;
    if (terms->keys != nullptr) keys_ = terms->keys + at;
    if (terms->queries != nullptr) queries_ = terms->queries + at;
  }

  bool any() const { return bias_ != nullptr || rows_ != nullptr; }
  const float* keys() const { return keys_; }        // the first row, or null
  const float* queries() const { return queries_; }  // the first row, or null
  int64_t count() const { return count_; }           // of rows
  int64_t width() const { return width_; }           // from one row to the next
  int64_t stride() const { return stride_; }         // of the products

  /// Adds query i's terms to its scores of keys [begin, begin + count). by_query (count()) are the
  /// query's products, by_key (tokens, stride()) the keys', both in the unit of the scores. `unit`
  /// is one in that unit.
  template <class Arch>
  void add(int64_t i, int64_t begin, int64_t count, float unit, const float* by_query,
           const float* by_key, float* scores) const {
    if (bias_ != nullptr) {
      const float* bias = bias_ + begin - i;
      for_lanes<Arch>(count, [&](int64_t c, int64_t part) {
        const auto sum = xsimd::fma(load_at<Arch>(bias, c, part), Batch<Arch>(unit),
                                    load_at<Arch>(scores, c, part));
        store_at<Arch>(sum, scores, c, part);
      });
    }
    if (keys_ != nullptr) add_by_query<Arch>(rows_ + begin - i, count, by_query - first_, scores);
    if (queries_ != nullptr)
      add_by_key<Arch>(rows_ + begin - i, count, by_key + begin * stride_ - first_, scores);
  }

 private:
  template <class Arch>
  static void add_by_query(const int32_t* rows, int64_t count, const float* products,
                           float* scores) {
    constexpr int64_t kStep = kLanes<Arch>;
    int64_t c = 0;
    for (; c + kStep <= count; c += kStep) {
      const float* first = products + rows[c];
      const bool consecutive = rows[c + kStep - 1] - rows[c] == kStep - 1;
      const auto term = consecutive
                            ? Batch<Arch>::load_unaligned(first)
                            : gather<Arch>(products, Indices<Arch>::load_unaligned(rows + c));
      (Batch<Arch>::load_unaligned(scores + c) + term).store_unaligned(scores + c);
    }
    for (; c < count; ++c) scores[c] += products[rows[c]];
  }

  template <class Arch>
  void add_by_key(const int32_t* rows, int64_t count, const float* products, float* scores) const {
    constexpr int64_t kStep = kLanes<Arch>;
    alignas(64) int32_t keys[kStep];
    for (int64_t i = 0; i < kStep; ++i) keys[i] = static_cast<int32_t>(i * stride_);
    const auto of_keys = Indices<Arch>::load_aligned(keys);
    int64_t c = 0;
    for (; c + kStep <= count; c += kStep, products += kStep * stride_) {
      const auto at = of_keys + Indices<Arch>::load_unaligned(rows + c);
      (Batch<Arch>::load_unaligned(scores + c) + gather<Arch>(products, at))
          .store_unaligned(scores + c);
    }
    for (; c < count; ++c, products += stride_) scores[c] += products[rows[c]];
  }

  template <class Arch>
  using Indices = xsimd::batch<int32_t, Arch>;

  int64_t width_, stride_;
  int64_t first_ = 0, count_ = 0;
  const int32_t* rows_ = nullptr;
  const float* keys_ = nullptr;
  const float* queries_ = nullptr;
  const float* bias_ = nullptr;
};

}  // namespace signalbox::kernels::body
