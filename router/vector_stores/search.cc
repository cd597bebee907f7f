// A hybrid search takes more candidates from both searches than it returns. It compares the vectors
// of all of them, because a chunk that only the search by words found may be similar, too.

#include "router/vector_stores/search.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "router/word_search/terms.h"

namespace signalbox::vector_stores {
namespace {

using vector_index::VectorIndex;

Result<std::vector<float>> embed_queries(const Embedder& embedder, const Search& search,
                                         const engine::Patience& patience) {
  if (search.queries.size() == 1 && search.vector_space == embedder.name && !search.vector.empty())
    return std::vector<float>(search.vector.begin(), search.vector.end());
  if (embedder.model == nullptr) return fail(Code::kUpstream, "there is no embedding model");
  const std::vector<std::string_view> texts(search.queries.begin(), search.queries.end());
  std::vector<float> out(texts.size() * static_cast<size_t>(embedder.model->dim()));
  SIGNALBOX_TRY_VOID(embedder.model->embed_within(patience, texts, out));
  return out;
}

Result<void> check(const engine::Patience& patience) {
  if (patience.stop.stop_requested()) return fail(Code::kCancelled, "the search was cancelled");
  if (std::chrono::steady_clock::now() > patience.deadline)
    return fail(Code::kDeadline, "no time is left for the search");
  return {};
}

/// Calls `with` with each of the queries' vectors.
template <class With>
Result<void> each_query(const VectorIndex& index, std::span<const float> queries,
                        const With& with) {
  const auto dim = static_cast<size_t>(index.dim());
  for (size_t at = 0; at < queries.size(); at += dim)
    SIGNALBOX_TRY_VOID(with(queries.subspan(at, dim)));
  return {};
}

using Cosines = std::unordered_map<uint64_t, float>;

void keep_greater(Cosines& of, uint64_t id, float cosine) {
  const auto [found, is_new] = of.emplace(id, cosine);
  if (!is_new) found->second = std::max(found->second, cosine);
}

/// The `most` chunks of each entry that are nearest to a query.
Result<Cosines> find_nearest(const VectorIndex& index, std::span<const Searched> entries,
                             std::span<const float> queries, size_t most, double least,
                             const engine::Patience& patience) {
  Cosines out;
  const auto search_all = [&](std::span<const float> query) -> Result<void> {
    for (const Searched& each : entries) {
      SIGNALBOX_TRY_VOID(check(patience));
      SIGNALBOX_TRY(const auto hits, index.search(each.number, query, most));
      for (const vector_index::Hit& hit : hits) {
        if (hit.cosine < least) break;
        keep_greater(out, hit.id, hit.cosine);
      }
    }
    return {};
  };
  SIGNALBOX_TRY_VOID(each_query(index, queries, search_all));
  return out;
}

std::vector<ChunkHit> best_of(std::vector<ChunkHit> hits, size_t most) {
  const size_t kept = std::min(hits.size(), most);
  std::partial_sort(hits.begin(), hits.begin() + static_cast<ptrdiff_t>(kept), hits.end(),
                    [](const ChunkHit& a, const ChunkHit& b) {
                      return a.score != b.score ? a.score > b.score : a.id < b.id;
                    });
  hits.resize(kept);
  return hits;
}

std::vector<ChunkHit> best_of(const Cosines& cosines, size_t most) {
  std::vector<ChunkHit> out;
  for (const auto& [id, cosine] : cosines) out.push_back({id, cosine});
  return best_of(std::move(out), most);
}

/// The entries are in the order of their numbers.
std::string_view text_of(std::span<const Searched> entries, uint64_t id) {
  const auto entry = std::ranges::lower_bound(entries, id / kEntryChunksMax, {}, &Searched::number);
  return entry->chunks->texts[id % kEntryChunksMax];
}

struct FoundWords {
  double score = 0;
  bool is_distinctive = false;
};
using Words = std::unordered_map<uint64_t, FoundWords>;

Result<Words> find_by_words(std::span<const Searched> entries, const Search& search, size_t most,
                            const engine::Patience& patience) {
  std::vector<const word_search::TextWords*> lists;
  for (const Searched& each : entries) lists.push_back(&each.chunks->words);
  const std::vector<std::string_view> queries(search.queries.begin(), search.queries.end());
  SIGNALBOX_TRY(const auto hits, word_search::find_words(lists, word_search::query_terms(queries),
                                                         search.hybrid->bm25, most,
                                                         [&] { return check(patience); }));
  Words out;
  for (const word_search::WordHit& hit : hits)
    out[row_id(entries[hit.list].number, hit.text)] = {hit.score, hit.is_distinctive};
  return out;
}

/// Adds the cosines of chunks that only their words have found.
Result<void> add_cosines(const VectorIndex& index, std::span<const float> queries,
                         const Words& words, Cosines& out) {
  std::vector<uint64_t> missing;
  for (const auto& [id, found] : words) {
    if (!out.contains(id)) missing.push_back(id);
  }
  return each_query(index, queries, [&](std::span<const float> query) -> Result<void> {
    SIGNALBOX_TRY(const auto cosines, index.cosines(missing, query));
    for (size_t i = 0; i < missing.size(); ++i) {
      if (cosines[i]) keep_greater(out, missing[i], *cosines[i]);
    }
    return {};
  });
}

Result<std::vector<ChunkHit>> find_hybrid(const VectorIndex& index,
                                          std::span<const Searched> entries,
                                          std::span<const float> queries, const Search& search,
                                          const engine::Patience& patience) {
  const size_t most = word_search::candidates_of(search.most);
  SIGNALBOX_TRY(Cosines nearest, find_nearest(index, entries, queries, most, -1, patience));
  Cosines cosines;
  for (const ChunkHit& each : best_of(nearest, most)) cosines[each.id] = nearest.at(each.id);
  SIGNALBOX_TRY(Words words, find_by_words(entries, search, most, patience));
  SIGNALBOX_TRY_VOID(add_cosines(index, queries, words, cosines));
  std::vector<uint64_t> ids;
  std::vector<word_search::Candidate> candidates;
  for (const auto& [id, cosine] : cosines) {
    const FoundWords by_words = words[id];
    if (cosine < search.similarity_min && !by_words.is_distinctive) continue;
    ids.push_back(id);
    candidates.push_back({text_of(entries, id), cosine, by_words.score});
  }
  std::string query;
  for (const std::string& each : search.queries) query += (query.empty() ? "" : "\n") + each;
  const auto scores = word_search::scores_of(candidates, query, *search.hybrid);
  std::vector<ChunkHit> hits;
  for (size_t i = 0; i < ids.size(); ++i) hits.push_back({ids[i], scores[i]});
  return best_of(std::move(hits), search.most);
}

}  // namespace

Result<std::vector<ChunkHit>> find_chunks(const Embedder& embedder, const VectorIndex& index,
                                          std::span<const Searched> entries, const Search& search,
                                          const engine::Patience& patience) {
  SIGNALBOX_TRY(const std::vector<float> queries, embed_queries(embedder, search, patience));
  if (search.hybrid != nullptr) return find_hybrid(index, entries, queries, search, patience);
  SIGNALBOX_TRY(const Cosines nearest, find_nearest(index, entries, queries, search.most,
                                                    search.similarity_min, patience));
  return best_of(nearest, search.most);
}

}  // namespace signalbox::vector_stores
