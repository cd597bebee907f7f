#pragma once
// Finds chunks among entries by the similarity of vectors, and by words if the search requests
// that.

#include <span>
#include <vector>

#include "router/vector_stores/registry.h"

namespace signalbox::vector_stores {

/// An entry that a search looks at.
struct Searched {
  uint64_t number;
  Chunks chunks;
};

struct ChunkHit {
  uint64_t id;  // row_id()
  double score;
};

/// The id of a chunk's vector.
constexpr uint64_t row_id(uint64_t entry, size_t chunk) {
  return entry * kEntryChunksMax + chunk;
}

/// The best chunks of all entries, at most `most`. Embeds the queries, which blocks. Large stores
/// take some hundred milliseconds, so it ends between two entries if nobody waits any more.
Result<std::vector<ChunkHit>> find_chunks(const Embedder& embedder,
                                          const vector_index::VectorIndex& index,
                                          std::span<const Searched> entries, const Search& search,
                                          const engine::Patience& patience);

}  // namespace signalbox::vector_stores
