#pragma once
// The words of a list of texts, and the search for the texts that share words with a query. A list
// never changes, so that a holder searches it without a lock.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/text/bm25.h"
#include "router/word_search/terms.h"

namespace signalbox::word_search {

/// An index from terms to texts. It takes about two bytes for each different term of each text, and
/// eight for each different term of 1,024 neighbouring texts.
class TextWords {
 public:
  /// Reads the texts, each of which is below 4 GiB.
  explicit TextWords(std::span<const std::string_view> texts);

  /// 1,024 texts at most. Their numbers in it take ten bits.
  struct Segment {
    std::vector<Term> terms;       // in order
    std::vector<uint32_t> begins;  // (terms + 1): of each term's postings
    std::vector<uint16_t>
        postings;                   // the text in the upper ten bits, and its occurrences, up to 63
    std::vector<uint32_t> lengths;  // (texts): terms with their repetitions

    /// The postings of a term; empty if no text has it.
    std::span<const uint16_t> postings_of(Term term) const;
  };
  static constexpr size_t kSegmentTexts = 1024;

  const std::vector<Segment>& segments() const { return segments_; }
  size_t bytes() const;

 private:
  std::vector<Segment> segments_;
};

struct WordHit {
  size_t list, text;
  float score;          // by BM25
  bool is_distinctive;  // the text has a term of the query that few texts have, see below
};

/// Returns the texts of all lists that share terms with the query, the best first, at most `most`.
/// Only the 32 rarest terms that occur count. A term is distinctive if at most one of fifty texts
/// has it, or if it is a code and at most three texts have it. `check` is called between segments;
/// its error ends the search.
Result<std::vector<WordHit>> find_words(std::span<const TextWords* const> lists,
                                        std::span<const QueryTerm> query, const text::Bm25& bm25,
                                        size_t most, const std::function<Result<void>()>& check);

}  // namespace signalbox::word_search
