#pragma once
// Shared by all softmax attention kernels: the iteration of query tiles over key tiles. Keys
// outside a query's window are never multiplied, except at the edges of a panel. Tiles begin at
// fixed positions of the sequence, so a sequence's result has the same bits in every batch.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"

namespace signalbox::kernels::body {

inline constexpr int64_t kQueryTile = 48;  // a multiple of every tier's row block
inline constexpr int64_t kKeyTile = 128;   // keys and values of a tile at 64 dimensions fit the
                                           // caches
inline constexpr int64_t kPanelMax = 32;   // key panel of the widest tier
inline constexpr int64_t kScoreRows = 12;  // row block of the widest tier

inline constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// The keys that a query sees: token i attends to tokens i - before to i + after.
struct Reach {
  int64_t before;
  int64_t after;

  explicit Reach(const AttentionShape& shape)
      : before(std::min(shape.window, shape.tokens)), after(shape.causal ? 0 : before) {}
};

/// Returns the factor of the scores.
inline float score_scale(const AttentionShape& shape) {
  return shape.scale == 0 ? 1.0f / std::sqrt(static_cast<float>(shape.head_dim)) : shape.scale;
}

/// A few queries and the keys visible to them.
struct AttentionBlock {
  int64_t row;         // index of the first query in its tile
  int64_t rows;        // number of queries
  int64_t query;       // token of the first query
  int64_t begin, end;  // range of keys, at most kKeyTile; begins at the edge of a panel
  Reach reach;

  /// Range of keys visible to query `query + r`, relative to `begin`. Empty if first >= last.
  int64_t first_visible(int64_t r) const {
    return std::max(begin, query + r - reach.before) - begin;
  }
  int64_t last_visible(int64_t r) const {
    return std::min(end, query + r + reach.after + 1) - begin;
  }
};

/// Calls attend(block) for the tile of `queries` queries that starts at token `first_query`. The
/// outer loop is over key tiles, so each is loaded once for all queries of the tile.
template <class Attend>
void walk_keys(int64_t tokens, Reach reach, int64_t first_query, int64_t queries,
               int64_t block_rows, int64_t panel, const Attend& attend) {
  const int64_t end = std::min(tokens, first_query + queries + reach.after);
  int64_t tile = std::max<int64_t>(0, first_query - reach.before) / panel * panel;
  for (; tile < end; tile += kKeyTile) {
    for (int64_t row = 0; row < queries; row += block_rows) {
      const int64_t rows = std::min(block_rows, queries - row);
      const int64_t query = first_query + row;
      const int64_t first_key = std::max<int64_t>(0, query - reach.before);
      const int64_t begin = std::max(tile, first_key / panel * panel);
      const int64_t last = std::min({tile + kKeyTile, tokens, query + rows + reach.after});
      if (begin < last) attend(AttentionBlock{row, rows, query, begin, last, reach});
    }
  }
}

/// Where one head's query, key and value begin in a token's row, in floats.
struct HeadPlaces {
  int64_t query, key, value;

  HeadPlaces(const AttentionShape& shape, int32_t head) {
    const int64_t dim = shape.head_dim;
    const int64_t shared = head / (shape.heads / shape.key_heads());
    query = head * dim;
    key = (shape.heads + shared) * dim;
    value = key + shape.key_heads() * dim;
  }
};

}  // namespace signalbox::kernels::body
