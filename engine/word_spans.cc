// Spans are short, so a flag for each word finds overlaps.

#include "engine/word_spans.h"

#include <algorithm>
#include <cmath>

namespace signalbox::engine {

std::vector<WordSpan> choose_spans(std::span<const float> logits, int32_t words, int32_t width_max,
                                   int32_t labels, float least) {
  std::vector<WordSpan> likely;
  for (int32_t first = 0; first < words; ++first) {
    for (int32_t more = 0; more < std::min(width_max, words - first); ++more) {
      const float* row = logits.data() + (int64_t{first} * width_max + more) * labels;  // (labels)
      for (int32_t label = 0; label < labels; ++label) {
        const float score = 1 / (1 + std::exp(-row[label]));
        if (score > least) likely.push_back({first, first + more, label, score});
      }
    }
  }
  std::ranges::stable_sort(likely, std::ranges::greater(), &WordSpan::score);
  std::vector<bool> is_taken(words);
  std::vector<WordSpan> out;
  for (const WordSpan& span : likely) {
    const auto begin = is_taken.begin() + span.first, end = is_taken.begin() + span.last + 1;
    if (std::find(begin, end, true) != end) continue;
    std::fill(begin, end, true);
    out.push_back(span);
  }
  std::ranges::sort(out, {}, &WordSpan::first);
  return out;
}

}  // namespace signalbox::engine
