// Uses the engine's own reader, so that word boundaries are defined in only one place.

#include "tools/unreachable_spans.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/entities.h"

namespace signalbox::tools {

int64_t count_unreachable_spans(const tokenizer::Tokenizer& tokenizer, int32_t tokens_max,
                                std::string_view text, std::span<const LabelledSpan> spans) {
  if (spans.empty()) return 0;
  const std::vector<std::string> tags{"O", "B-span", "I-span"};
  tokenizer::Encoding encoding;
  tokenizer.encode(text, {.tokens_max = tokens_max, .side = tokenizer.side()}, encoding);
  std::vector<float> scores(encoding.ids.size() * tags.size());
  size_t s = 0;             // the first span that does not end before the token
  size_t begun = SIZE_MAX;  // the last span begun by a token
  for (uint32_t t = encoding.first_tokens.begin; t < encoding.first_tokens.end; ++t) {
    const tokenizer::Span& at = encoding.offsets[t];
    while (s < spans.size() && spans[s].end <= at.begin) ++s;
    const bool is_in = s < spans.size() && spans[s].begin < at.end && at.begin < at.end;
    scores[t * tags.size() + (!is_in ? 0 : begun == s ? 2 : 1)] = 1;
    if (is_in) begun = s;
  }
  const auto found = engine::EntityReader(tags).read(text, encoding, encoding.first_tokens, scores);
  return std::ranges::count_if(spans, [&](const LabelledSpan& span) {
    return std::ranges::none_of(found, [&](const engine::Entity& each) {
      return each.begin == span.begin && each.end == span.end;
    });
  });
}

std::string unreachable_spans_note(int64_t spans) {
  return fmt::format(
      "{} {} inside a word, at white space or behind the text that the model reads; no tagger can "
      "find {} as labelled",
      spans, spans == 1 ? "span begins or ends" : "spans begin or end", spans == 1 ? "it" : "them");
}

}  // namespace signalbox::tools
