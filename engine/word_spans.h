#pragma once
// Chooses spans of words by the logits of a network that scores all of them.

#include <cstdint>
#include <span>
#include <vector>

namespace signalbox::engine {

struct WordSpan {
  int32_t first = 0;  // word
  int32_t last = 0;   // included
  int32_t label = 0;
  float score = 0;  // a probability
  bool operator==(const WordSpan&) const = default;
};

/// Takes spans whose probability is above `least`, the likeliest first, unless they share a word
/// with one that was taken; of equal ones, the first in the order of the logits. Returns them in
/// the order of the text. `logits` (words, width_max, labels) are laid out as those of
/// GlinerHead::logits().
std::vector<WordSpan> choose_spans(std::span<const float> logits, int32_t words, int32_t width_max,
                                   int32_t labels, float least);

}  // namespace signalbox::engine
