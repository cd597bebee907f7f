#pragma once
// One order for the results of a search by similarity and of a search by words.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "router/text/bm25.h"

namespace signalbox::word_search {

/// A way to join the searches. Weights are not negative, and only their ratios matter.
struct Hybrid {
  /// kWeighted: the sum of the cosine, the score by BM25 as a share of the greatest, and the share
  /// of common n-grams. kRanks: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)
  /// of the orders by each of them, where a text of less than half of the greatest score by BM25
  /// has no rank by words. Otherwise a text with a rare word would come after those that share
  /// only common words with the query.
  enum class Mode : uint8_t { kWeighted, kRanks };
  Mode mode = Mode::kWeighted;
  double vector_weight = 0.7, bm25_weight = 0.2, ngram_weight = 0.1;
  double rank_constant = 60;
  text::Bm25 bm25 = {};
  uint32_t ngram_size = 3;  // characters
};
inline constexpr uint32_t kNgramSizeMax = 16;

/// Mode kRanks with equal weights.
Hybrid ranks();

/// The number of texts to take from each search, so that the best `most` can be chosen from them.
constexpr size_t candidates_of(size_t most) {
  return most < 13 ? 50 : 4 * most;
}

/// A text that a search has found.
struct Candidate {
  std::string_view text;
  double cosine = 0;  // -1 to 1
  double words = 0;   // by BM25; 0: it has no word of the query
};

/// The scores of the candidates, (candidates), 0 to 1. `query` is compared by its n-grams.
std::vector<double> scores_of(std::span<const Candidate> candidates, std::string_view query,
                              const Hybrid& hybrid);

}  // namespace signalbox::word_search
