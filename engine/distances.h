#pragma once
// Distances between tokens in attention: how networks group them into buckets, and the tables that
// attention reads by distance. A distance is d = j - i for a key j and its query i.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

/// The rows of a table of vectors that the distances -reach < d < reach use. Immutable.
struct DistanceRows {
  std::vector<int32_t> used;  // rows of the network's table in the order of distances, each once
  std::vector<int32_t> rows;  // (2 reach - 1): index in `used` of each distance

  /// `row_of` returns the row of a distance in the network's table.
  DistanceRows(int32_t reach, const std::function<int32_t(int32_t)>& row_of);
  /// See kernels::DistanceTerms::rows.
  const int32_t* center() const { return rows.data() + rows.size() / 2; }
};

/// Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer", 2019: half of the buckets are for keys after the query. Half of each half are for
/// single distances, the others grow on a logarithmic scale up to the distance `far`.
struct BucketsT5 {
  int32_t count = 32;  // at least 4
  int32_t far = 128;   // more than a quarter of `count`

  /// Like Hugging Face's code it computes in single precision.
  int32_t of(int32_t distance) const;
};

/// Numbers that are added to the scores of each head. Immutable.
class DistanceBias {
 public:
  DistanceBias() = default;
  /// `table` (buckets, heads) has a row for each bucket; for the distances -reach < d < reach.
  DistanceBias(int32_t reach, int32_t heads, const BucketsT5& buckets, const Buffer<float>& table);
  kernels::DistanceTerms terms() const;
  uint64_t bytes() const { return values_.size() * sizeof(float); }

 private:
  int64_t width_ = 0;     // 2 reach - 1
  Buffer<float> values_;  // (heads, width)
};

/// Returns the signed bucket of i - j as in DeBERTa-v2: up to half of `buckets` the difference
/// itself, further away on a logarithmic scale that reaches `buckets` at `distance_max`. In single
/// precision, too.
int32_t bucket_deberta(int32_t difference, int32_t buckets, int32_t distance_max);

}  // namespace signalbox::engine
