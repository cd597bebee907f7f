#pragma once
// The memory of one call of attention in integers.

#include <cstdint>

#include "kernels/body/attention_tiles.h"
#include "kernels/body/distance.h"

namespace signalbox::kernels::body {

inline constexpr int64_t kColumnsI16 = 32;

/// Offsets of the parts in one call's scratch. Each part begins at a multiple of 64 bytes.
struct ScratchI16 {
  int64_t dim;         // rounded up to a pair
  int64_t padded_dim;  // rounded up to a panel
  int64_t tokens;      // rounded up to a panel
  int64_t bytes = 0;
  int64_t keys, key_scales, values, value_scales, queries, query_scales, scores, weights, update,
      mixed, largest, sums, distances, distance_scales, by_query, by_key;

  explicit ScratchI16(const AttentionShape& shape)
      : dim(round_up(shape.head_dim, 2)),
        padded_dim(round_up(shape.head_dim, kColumnsI16)),
        tokens(round_up(shape.tokens, kColumnsI16)) {
    keys = take(tokens * dim * sizeof(int16_t));
    key_scales = take(tokens * sizeof(float));
    values = take(tokens * padded_dim * sizeof(int16_t));
    value_scales = take(padded_dim * sizeof(float));
    queries = take(kQueryTile * dim * sizeof(int16_t));
    query_scales = take(kQueryTile * sizeof(float));
    scores = take(kScoreRows * kKeyTile * sizeof(int32_t));
    weights = take(kScoreRows * kKeyTile * sizeof(int16_t));
    update = take(kScoreRows * padded_dim * sizeof(int32_t));
    mixed = take(kQueryTile * padded_dim * sizeof(float));
    largest = take(kQueryTile * sizeof(float));
    sums = take(kQueryTile * sizeof(float));
    distances = take(distance_columns(shape) * dim * sizeof(int16_t));
    distance_scales = take(distance_columns(shape) * sizeof(float));
    by_query = take(kQueryTile * distance_stride(shape) * sizeof(float));
    by_key = take(shape.tokens * distance_stride(shape) * sizeof(float));
  }

 private:
  int64_t take(int64_t size) {
    const int64_t at = bytes;
    bytes += round_up(size, 64);
    return at;
  }
};

}  // namespace signalbox::kernels::body
