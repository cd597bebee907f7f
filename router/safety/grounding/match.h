#pragma once
// Which sentences of a context speak of what a sentence of an answer speaks of: rare words that
// both have, as search engines count them.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// Immutable once built; looks into the text.
class SentenceIndex {
 public:
  explicit SentenceIndex(const ReadText& text);

  /// A score for each sentence of the text: the sum of ln(1 + sentences / sentences with the word)
  /// over the different words that it shares with those tokens, and a little less the longer it is.
  std::vector<float> scores(const ReadText& answer, uint32_t first_token,
                            uint32_t last_token) const;

 private:
  const ReadText& text_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> sentences_of_;  // by word
};

/// Indices of the highest scores over 0, at most `count`, highest first.
std::vector<uint32_t> best(const std::vector<float>& scores, size_t count);

}  // namespace signalbox::grounding
