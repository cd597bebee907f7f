#pragma once
// What every softmax attention of one sequence shares: the walk of tiles of queries over tiles of
// keys. Keys out of a query's window are never multiplied, but for the edges of a panel. Tiles
// begin at fixed places of the sequence, so a sequence's result is the same bits in every batch.

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"

namespace signalbox::kernels::body {

inline constexpr int64_t kQueryTile = 48;  // a multiple of every tier's block of rows
inline constexpr int64_t kKeyTile = 128;   // 64 dimensions of its keys and values fit the caches
inline constexpr int64_t kPanelMax = 32;   // the widest tier's panel of keys
inline constexpr int64_t kScoreRows = 12;  // the widest tier's block of rows

inline constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// A few queries and the keys that they may see.
struct AttentionBlock {
  int64_t row;         // the first query's place in its tile
  int64_t rows;        // queries
  int64_t query;       // the first query's token
  int64_t begin, end;  // keys, at most kKeyTile, the first at the edge of a panel
  int64_t window;

  /// The keys that query `query + r` sees, counted from `begin`; none when first >= last.
  int64_t first_visible(int64_t r) const { return std::max(begin, query + r - window) - begin; }
  int64_t last_visible(int64_t r) const { return std::min(end, query + r + window + 1) - begin; }
};

/// Calls attend(block) for the tile of `queries` queries from token `first_query` on. Tiles of keys
/// outside, so that each is loaded once for all queries of the tile.
template <class Attend>
void walk_keys(int64_t tokens, int64_t window, int64_t first_query, int64_t queries,
               int64_t block_rows, int64_t panel, const Attend& attend) {
  const int64_t end = std::min(tokens, first_query + queries + window);
  int64_t tile = std::max<int64_t>(0, first_query - window) / panel * panel;
  for (; tile < end; tile += kKeyTile) {
    for (int64_t row = 0; row < queries; row += block_rows) {
      const int64_t rows = std::min(block_rows, queries - row);
      const int64_t query = first_query + row;
      const int64_t first_key = std::max<int64_t>(0, query - window);
      const int64_t begin = std::max(tile, first_key / panel * panel);
      const int64_t last = std::min({tile + kKeyTile, tokens, query + rows + window});
      if (begin < last) attend(AttentionBlock{row, rows, query, begin, last, window});
    }
  }
}

}  // namespace signalbox::kernels::body
