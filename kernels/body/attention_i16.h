#pragma once
// Softmax attention of one sequence in 16-bit integers. Queries and keys have one scale per token
// and as many bits as their dot product leaves room for (13 for 64 dimensions). Values have 12 bits
// and one scale per dimension. The softmax weights, which are between 0 and the row's largest
// weight, have 13 unsigned bits. A dot product of pairs then gives exact 32-bit sums at twice the
// rate of single precision, with finer resolution than bfloat16. Weights of eight bits would double
// the rate again but drop the tail of a flat softmax.
//
// Layouts: keys (panels of 32, pairs of dim, 32, 2), values (panels of 32 dimensions, pairs of
// tokens, 32, 2), queries (kQueryTile, pairs of dim, 2).

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/body/attention_tiles.h"
#include "kernels/body/distance.h"
#include "kernels/body/quantize.h"
#include "kernels/body/scratch_i16.h"
#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

inline constexpr float kWeightMax = 8191.0f;
inline constexpr float kLog2E = 1.44269504f;  // for powers of 2
// The sum of kKeyTile products of a weight and a value must fit: 128 * 8191 * 2047 < 2^31.
inline constexpr float kValueMax = 2047.0f;

// Returns the largest magnitude of queries and keys whose dot product fits in 32 bits.
inline float query_max(int64_t dim) {
  const double fits = std::floor(std::sqrt(2147483647.0 / static_cast<double>(dim)));
  return static_cast<float>(fits < 16383 ? fits : 16383);
}

// Adding this to a float below 2^22 leaves the nearest integer in the low bits.
inline constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23

/// Returns round(2^x * kWeightMax) for -30 <= x <= 0 in the low 16 bits of each lane; the bits of
/// kRounder are above them. The relative error of 2^x is 3e-6: a polynomial for the fraction, the
/// exponent for the integer part.
template <class Arch>
inline xsimd::batch<int32_t, Arch> weight_of(const Batch<Arch>& x) {
  using Integers = xsimd::batch<int32_t, Arch>;
  const Batch<Arch> rounder(kRounder);
  const Batch<Arch> shifted = x + rounder;
  const Batch<Arch> f = x - (shifted - rounder);
  Batch<Arch> p(1.3333558e-3f);
  p = xsimd::fma(p, f, Batch<Arch>(9.6181291e-3f));
  p = xsimd::fma(p, f, Batch<Arch>(5.5504109e-2f));
  p = xsimd::fma(p, f, Batch<Arch>(2.4022651e-1f));
  p = xsimd::fma(p, f, Batch<Arch>(6.9314718e-1f));
  p = xsimd::fma(p, f, Batch<Arch>(1.0f));
  const Integers exponent = xsimd::bitwise_cast<Integers>(shifted) << 23;
  const auto power = xsimd::bitwise_cast<Batch<Arch>>(xsimd::bitwise_cast<Integers>(p) + exponent);
  return xsimd::bitwise_cast<Integers>(xsimd::fma(power, Batch<Arch>(kWeightMax), rounder));
}

/// Dots is supplied by the tier. It has kRows and run(rows, pairs, a, a_stride, w, sums,
/// sums_stride), which computes sums (rows, 32) = a (rows, pairs, 2) times w (pairs, 32, 2) for
/// rows <= kRows <= kScoreRows.
template <class Arch, class Dots>
class HeadAttentionI16 {
 public:
  HeadAttentionI16(const AttentionShape& shape, int32_t head, const DistanceTerms* terms,
                   char* scratch)
      : at_(shape),
        base_(scratch),
        tokens_(shape.tokens),
        dim_(shape.head_dim),
        reach_(shape),
        stride_(shape.qkv_width()),
        query_max_(query_max(shape.head_dim)),
        scale_(kLog2E * score_scale(shape)),
        terms_(shape, head, terms) {}

  // q, k and v point to the first token; rows of out are out_stride apart.
  void run(const float* q, const float* k, const float* v, float* out, int64_t out_stride) {
    pack_keys(k, stride_, tokens_, at_.keys, at_.key_scales);
    pack_values(v);
    if (terms_.queries() != nullptr) multiply_keys(k);
    if (terms_.keys() != nullptr) pack_distances(terms_.keys());
    for (int64_t first = 0; first < tokens_; first += kQueryTile) {
      const int64_t count = std::min(kQueryTile, tokens_ - first);
      begin_queries(q + first * stride_, count);
      walk_keys(tokens_, reach_, first, count, Dots::kRows, kColumnsI16,
                [&](const AttentionBlock& block) { attend_block(block); });
      finish_queries(count, out + first * out_stride, out_stride);
    }
  }

 private:
  template <class T>
  T* part(int64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  // The next tokens' rows are pages apart, where the hardware prefetcher does not look ahead.
  void fetch(const float* x) const {
    for (int64_t d = 0; d < dim_; d += 16) __builtin_prefetch(x + d);
  }
  void fetch(const float* x, int64_t t) const {
    if (t + kFetchAhead < tokens_) fetch(x + (t + kFetchAhead) * stride_);
  }

  // Writes x (dim) as integers up to query_max_ to `to` (at_.dim). Returns the scale. The integers
  // pass through an array, because the compiler narrows it efficiently at any width.
  float quantize(const float* x, int16_t* to) const {
    constexpr int64_t kChunk = 2 * kLanes<Arch>;
    const float largest = largest_magnitude<Arch>(dim_, x);
    const Batch<Arch> inverse(largest > 0 ? query_max_ / largest : 0.0f);
    const auto integers = [&](int64_t i, int64_t lanes) {
      return xsimd::nearbyint_as_int(load_at<Arch>(x, i, lanes) * inverse);
    };
    alignas(64) int32_t wide[kChunk];
    int64_t i = 0;
    for (; i + kChunk <= dim_; i += kChunk) {
      integers(i, kLanes<Arch>).store_aligned(wide);
      integers(i + kLanes<Arch>, kLanes<Arch>).store_aligned(wide + kLanes<Arch>);
      for (int64_t c = 0; c < kChunk; ++c) to[i + c] = static_cast<int16_t>(wide[c]);
    }
    for_lanes<Arch>(dim_ - i, [&](int64_t c, int64_t lanes) {
      integers(i + c, lanes).store_aligned(wide);
      for (int64_t l = 0; l < lanes; ++l) to[i + c + l] = static_cast<int16_t>(wide[l]);
    });
    if (dim_ < at_.dim) to[dim_] = 0;
    return largest / query_max_;
  }

  // Rows of k (count, dim) are `stride` apart; the offsets are those of the panels and their
  // scales.
  void pack_keys(const float* k, int64_t stride, int64_t count, int64_t panels_at,
                 int64_t scales_at) const {
    auto* panels = part<int16_t>(panels_at);
    auto* scales = part<float>(scales_at);
    auto* row = part<int16_t>(at_.queries);  // the queries are written later
    for (int64_t t = 0; t < round_up(count, kColumnsI16); ++t) {
      int16_t* to = panels + t / kColumnsI16 * kColumnsI16 * at_.dim + t % kColumnsI16 * 2;
      const auto put = [&](int64_t d, int32_t pair) {
        std::memcpy(to + d * kColumnsI16, &pair, sizeof pair);
      };
      if (t < count) {
        if (t + kFetchAhead < count) fetch(k + (t + kFetchAhead) * stride);
        scales[t] = quantize(k + t * stride, row);
        for (int64_t d = 0; d < at_.dim; d += 2) {
          int32_t pair;
          std::memcpy(&pair, row + d, sizeof pair);
          put(d, pair);
        }
        continue;
      }
      scales[t] = 0;
      for (int64_t d = 0; d < at_.dim; d += 2) put(d, 0);
    }
  }

  void pack_distances(const float* vectors) const {
    pack_keys(vectors, terms_.width(), terms_.count(), at_.distances, at_.distance_scales);
  }

  // Multiplies the keys by the queries of all distances, a tile of keys at a time in the place of
  // the queries.
  void multiply_keys(const float* k) const {
    pack_distances(terms_.queries());
    auto* rows = part<int16_t>(at_.queries);
    auto* scales = part<float>(at_.query_scales);
    for (int64_t first = 0; first < tokens_; first += kQueryTile) {
      const int64_t count = std::min(kQueryTile, tokens_ - first);
      for (int64_t r = 0; r < count; ++r)
        scales[r] = scale_ * quantize(k + (first + r) * stride_, rows + r * at_.dim);
      multiply_distances(count, part<float>(at_.by_key) + first * terms_.stride());
    }
  }

  // y (rows, terms_.stride()) = the quantised rows in the place of the queries times the packed
  // vectors of the distances, as powers of 2.
  void multiply_distances(int64_t rows, float* y) const {
    const auto* scales = part<float>(at_.query_scales);
    const auto* column_scales = part<float>(at_.distance_scales);
    auto* sums = part<int32_t>(at_.scores);
    for (int64_t c = 0; c < terms_.count(); c += kColumnsI16) {
      for (int64_t row = 0; row < rows; row += Dots::kRows) {
        const int64_t here = std::min<int64_t>(Dots::kRows, rows - row);
        Dots::run(here, at_.dim / 2, part<int16_t>(at_.queries) + row * at_.dim, at_.dim,
                  part<int16_t>(at_.distances) + c * at_.dim, sums, kColumnsI16);
        for (int64_t r = 0; r < here; ++r) {
          const Batch<Arch> scale(scales[row + r]);
          for (int64_t l = 0; l < kColumnsI16; l += kLanes<Arch>) {
            const auto sum = xsimd::to_float(Integers::load_aligned(sums + r * kColumnsI16 + l));
            (sum * Batch<Arch>::load_aligned(column_scales + c + l) * scale)
                .store_unaligned(y + (row + r) * terms_.stride() + c + l);
          }
        }
      }
    }
  }

  void pack_values(const float* v) {
    auto* values = part<int16_t>(at_.values);
    auto* scales = part<float>(at_.value_scales);
    for (int64_t first = 0; first < at_.padded_dim; first += kColumnsI16) {
      const int64_t columns = std::min(kColumnsI16, dim_ - first);
      alignas(64) float inverse[kColumnsI16] = {};
      for (int64_t t = 0; t < tokens_; ++t) {
        fetch(v, t);
        for_lanes<Arch>(columns, [&](int64_t c, int64_t n) {
          const auto magnitude = xsimd::abs(load_at<Arch>(v + t * stride_ + first, c, n));
          xsimd::max(Batch<Arch>::load_aligned(inverse + c), magnitude).store_aligned(inverse + c);
        });
      }
      for (int64_t c = 0; c < kColumnsI16; ++c) {
        scales[first + c] = inverse[c] / kValueMax / kWeightMax;
        inverse[c] = inverse[c] > 0 ? kValueMax / inverse[c] : 0.0f;
      }
      pack_value_panel(v + first, columns, inverse, values + first * at_.tokens);
    }
  }

  // Stores the values of two tokens in one word: the first in the low half, the second in the high
  // half.
  void pack_value_panel(const float* v, int64_t columns, const float* inverse, int16_t* panel) {
    for (int64_t t = 0; t < at_.tokens; t += 2, panel += 2 * kColumnsI16) {
      fetch(v, t);
      fetch(v, t + 1);
      const auto integers = [&](int64_t token, int64_t c, int64_t n) {
        if (token >= tokens_) return Integers(0);
        const auto value = load_at<Arch>(v + token * stride_, c, n);
        return xsimd::nearbyint_as_int(value * Batch<Arch>::load_aligned(inverse + c));
      };
      alignas(64) int32_t words[kColumnsI16] = {};
      for_lanes<Arch>(columns, [&](int64_t c, int64_t n) {
        const Integers low = integers(t, c, n) & Integers(0xFFFF);
        (low | (integers(t + 1, c, n) << 16)).store_aligned(words + c);
      });
      std::memcpy(panel, words, sizeof words);
    }
  }

  void begin_queries(const float* q, int64_t count) {
    auto* queries = part<int16_t>(at_.queries);
    auto* scales = part<float>(at_.query_scales);
    for (int64_t r = 0; r < count; ++r) {
      fetch(q, r);
      scales[r] = scale_ * quantize(q + r * stride_, queries + r * at_.dim);
      part<float>(at_.largest)[r] = -std::numeric_limits<float>::infinity();
      part<float>(at_.sums)[r] = 0.0f;
    }
    std::memset(part<float>(at_.mixed), 0, count * at_.padded_dim * sizeof(float));
    if (terms_.keys() != nullptr) multiply_distances(count, part<float>(at_.by_query));
  }

  void finish_queries(int64_t count, float* out, int64_t out_stride) {
    const auto* scales = part<float>(at_.value_scales);
    for (int64_t r = 0; r < count; ++r) {
      const Batch<Arch> scale(kWeightMax / part<float>(at_.sums)[r]);
      const float* mixed = part<float>(at_.mixed) + r * at_.padded_dim;
      for_lanes<Arch>(dim_, [&](int64_t d, int64_t lanes) {
        const auto value = Batch<Arch>::load_unaligned(mixed + d) * scale;
        store_at<Arch>(value * Batch<Arch>::load_unaligned(scales + d), out + r * out_stride, d,
                       lanes);
      });
    }
  }

  void attend_block(const AttentionBlock& block) {
    const int64_t columns = round_up(block.end - block.begin, kColumnsI16);
    auto* scores = part<int32_t>(at_.scores);
    for (int64_t c = 0; c < columns; c += kColumnsI16) {
      Dots::run(block.rows, at_.dim / 2, part<int16_t>(at_.queries) + block.row * at_.dim, at_.dim,
                part<int16_t>(at_.keys) + (block.begin + c) * at_.dim, scores + c, kKeyTile);
    }
    // All rows are scored before any is weighed, so that no row waits for the maximum of another.
    float tops[kScoreRows], corrections[kScoreRows];
    for (int64_t r = 0; r < block.rows; ++r) tops[r] = score(block, r, columns);
    for (int64_t r = 0; r < block.rows; ++r) corrections[r] = weigh(block, r, columns, tops[r]);
    auto* update = part<int32_t>(at_.update);
    for (int64_t d = 0; d < at_.padded_dim; d += kColumnsI16) {
      Dots::run(block.rows, columns / 2, part<int16_t>(at_.weights), kKeyTile,
                part<int16_t>(at_.values) + d * at_.tokens + block.begin * kColumnsI16, update + d,
                at_.padded_dim);
    }
    for (int64_t r = 0; r < block.rows; ++r) {
      const Batch<Arch> correction(corrections[r]);
      float* mixed = part<float>(at_.mixed) + (block.row + r) * at_.padded_dim;
      for (int64_t d = 0; d < at_.padded_dim; d += kLanes<Arch>) {
        const auto sum = Integers::load_unaligned(update + r * at_.padded_dim + d);
        xsimd::fma(Batch<Arch>::load_unaligned(mixed + d), correction, xsimd::to_float(sum))
            .store_unaligned(mixed + d);
      }
    }
  }

  static constexpr int64_t kFetchAhead = 8;  // in tokens

  // Scores are in units of the query's scale, or powers of 2 if terms are added.
  float unit(const AttentionBlock& block, int64_t r) const {
    return part<float>(at_.query_scales)[block.row + r];
  }

  // Converts the sums of the block's query r to scores in their place, which are -infinity outside
  // the query's window. Returns its largest score so far.
  float score(const AttentionBlock& block, int64_t r, int64_t columns) {
    const int64_t first = block.first_visible(r), last = block.last_visible(r);
    const Batch<Arch> before(part<float>(at_.largest)[block.row + r]);
    const Batch<Arch> scale(terms_.any() ? unit(block, r) : 1.0f);
    const int32_t* sums = part<int32_t>(at_.scores) + r * kKeyTile;
    const float* key_scales = part<float>(at_.key_scales) + block.begin;
    float* scores = part<float>(at_.scores) + r * kKeyTile;
    Batch<Arch> tops = before;
    for (int64_t c = 0; c < columns; c += kLanes<Arch>) {
      const auto sum = xsimd::to_float(Integers::load_aligned(sums + c));
      const auto scored = sum * Batch<Arch>::load_unaligned(key_scales + c) * scale;
      scored.store_aligned(scores + c);
      tops = xsimd::max(tops, scored);
    }
    if (!terms_.any() && first <= 0 && last >= columns) return max_lane<Arch>(tops);
    terms_.template add<Arch>(block.query + r, block.begin, block.end - block.begin, kLog2E,
                              part<float>(at_.by_query) + (block.row + r) * terms_.stride(),
                              part<float>(at_.by_key), scores);
    const float hidden = -std::numeric_limits<float>::infinity();
    for (int64_t c = 0; c < std::min(first, columns); ++c) scores[c] = hidden;
    for (int64_t c = std::max<int64_t>(last, 0); c < columns; ++c) scores[c] = hidden;
    tops = before;
    for (int64_t c = 0; c < columns; c += kLanes<Arch>)
      tops = xsimd::max(tops, Batch<Arch>::load_aligned(scores + c));
    return max_lane<Arch>(tops);
  }

  // Converts the scores of the block's query r to weights relative to its largest score so far.
  // Returns the factor by which earlier sums must be multiplied.
  float weigh(const AttentionBlock& block, int64_t r, int64_t columns, float top) {
    int16_t* weights = part<int16_t>(at_.weights) + r * kKeyTile;
    if (block.first_visible(r) >= block.last_visible(r)) {
      std::memset(weights, 0, columns * sizeof(int16_t));
      return 1.0f;
    }
    const float scale = terms_.any() ? 1.0f : unit(block, r);
    const float* scores = part<float>(at_.scores) + r * kKeyTile;
    Integers sum(0);
    alignas(64) int32_t wide[kKeyTile];
    for (int64_t c = 0; c < columns; c += kLanes<Arch>) {
      const auto below = Batch<Arch>::load_aligned(scores + c) - Batch<Arch>(top);
      const auto weight =
          weight_of<Arch>(xsimd::max(below * Batch<Arch>(scale), Batch<Arch>(-30.0f)));
      weight.store_aligned(wide + c);
      sum += weight & Integers(0xFFFF);
    }
    for (int64_t c = 0; c < columns; ++c) weights[c] = static_cast<int16_t>(wide[c]);
    float& largest = part<float>(at_.largest)[block.row + r];
    float& total = part<float>(at_.sums)[block.row + r];
    const float added = static_cast<float>(xsimd::hadd(sum));
    if (top == largest) {
      total += added;
      return 1.0f;
    }
    const float correction = std::exp2((largest - top) * scale);
    total = total * correction + added;
    largest = top;
    return correction;
  }

  using Integers = xsimd::batch<int32_t, Arch>;

  const ScratchI16 at_;
  char* const base_;
  const int64_t tokens_, dim_;
  const Reach reach_;
  const int64_t stride_;  // from one token's q, k or v to the next token's
  const float query_max_;
  const float scale_;  // of the scores, as powers of 2
  const HeadTerms terms_;
};

template <class Arch, class Dots>
void attention_i16(const AttentionShape& shape, int32_t head, const float* qkv,
                   const DistanceTerms* terms, void* scratch, float* out) {
  const HeadPlaces at(shape, head);
  HeadAttentionI16<Arch, Dots>(shape, head, terms, static_cast<char*>(scratch))
      .run(qkv + at.query, qkv + at.key, qkv + at.value, out + at.query,
           int64_t{shape.heads} * shape.head_dim);
}

/// A Dots implementation for any processor.
struct PlainDotsI16 {
  static constexpr int64_t kRows = 1;

  static void run(int64_t, int64_t pairs, const int16_t* a, int64_t, const int16_t* w,
                  int32_t* sums, int64_t) {
    std::memset(sums, 0, kColumnsI16 * sizeof(int32_t));
    for (int64_t p = 0; p < pairs; ++p, w += 2 * kColumnsI16) {
      for (int64_t c = 0; c < kColumnsI16; ++c) {
        sums[c] += a[2 * p] * w[2 * c] + a[2 * p + 1] * w[2 * c + 1];
      }
    }
  }
};

}  // namespace signalbox::kernels::body
