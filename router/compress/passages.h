#pragma once
// Finds the passages of texts that matter for a question, by BM25 (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009) over the sentences of compress.h. A passage gets a
// share of its neighbours' scores; between equal scores, the passage that represents the texts
// better wins (rank.h).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/compress/compress.h"
#include "router/compress/sentences.h"

namespace signalbox::compress {

class Passages {
 public:
  /// The question and the texts together must be below 4 GiB. A passage has at most `tokens_max`
  /// tokens. Takes linear time.
  Passages(std::span<const std::string_view> texts, std::string_view question, float tokens_max);

  /// Returns the share of the question's terms that occur in the texts, 0 to 1.
  double relevance() const { return relevance_; }

  /// Returns the ranges of each text to keep, (texts): the best passage of all, the first and the
  /// last, then the others by their rank, as long as they fit. Their bytes sum up to at most
  /// `bytes_max`, if each gap counts as `gap_bytes`. Ranges do not overlap, and there is a passage
  /// between two of them.
  std::vector<std::vector<Range>> choose(size_t bytes_max, size_t gap_bytes) const;

 private:
  void set_order(std::span<const uint32_t> question_terms);
  std::vector<float> scores(std::span<const uint32_t> question_terms);
  size_t text_of(const Sentence& passage) const;
  size_t begin_of_next(size_t passage) const;

  std::string joined_;           // the question and the texts, one after the other
  std::vector<size_t> begins_;   // (texts + 1): of the texts in joined_
  Sentences passages_;           // of the texts
  std::vector<uint32_t> order_;  // of passages_, best first
  double relevance_ = 0;
};

}  // namespace signalbox::compress
