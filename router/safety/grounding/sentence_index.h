#pragma once
// Finds the sentences of a context that are about the same thing as a sentence of an answer, by the
// words that both contain.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "router/text/read_text.h"

namespace signalbox::grounding {

/// An inverted index of one text, which must outlive it. Immutable and thread-safe.
class SentenceIndex {
 public:
  explicit SentenceIndex(const text::ReadText& text);

  /// The number of sentences.
  size_t size() const { return text_.sentences().size(); }

  /// A score for each sentence of the text: the sum of ln(1 + sentences / sentences with the word)
  /// over the distinct words that it shares with the tokens, slightly reduced for long sentences.
  std::vector<float> scores(const text::ReadText& answer, uint32_t first_token,
                            uint32_t last_token) const;

  /// Indices of the sentences that the answer's sentence restates: each contains at least half of
  /// its content words, and two of them unless it has only one. Units are not content words. A
  /// sentence of the text that begins with a pronoun is taken together with the one before it.
  std::vector<uint32_t> restated_by(const text::ReadText& answer,
                                    const text::Sentence& sentence) const;

 private:
  bool continues(uint32_t sentence) const;

  const text::ReadText& text_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> sentences_of_;  // by word
};

/// Indices of the highest scores above 0, at most `count`, highest first.
std::vector<uint32_t> best(const std::vector<float>& scores, size_t count);

}  // namespace signalbox::grounding
