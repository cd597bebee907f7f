// A mark has the source of the space it replaces. A prepended mark has the source of the following
// character, as in the reference.

#include "tokenizer/split/metaspace.h"

namespace signalbox::tokenizer {

bool SpaceMarker::needs_mark(const TextView& in, Span word) const {
  if (prepend_ == Prepend::kNever) return false;
  if (prepend_ == Prepend::kFirst && in.original(word).begin != 0) return false;
  const std::string_view text = in.text().substr(word.begin, word.end - word.begin);
  return text[0] != ' ' && !text.starts_with(mark_);
}

void SpaceMarker::rewrite(const TextView& in, std::span<const Span> words, Normalized& out,
                          std::vector<Span>& rewritten) const {
  const std::string_view text = in.text();
  for (const Span word : words) {
    const auto begin = static_cast<uint32_t>(out.text.size());
    if (needs_mark(in, word)) {
      out.append(mark_, in.source(word.begin, utf8::decode(text, word.begin).bytes));
    }
    for (uint32_t i = word.begin; i < word.end;) {
      const uint32_t bytes = utf8::decode(text, i).bytes;
      const Span from = in.source(i, bytes);
      out.append(text[i] == ' ' ? std::string_view(mark_) : text.substr(i, bytes), from);
      i += bytes;
    }
    rewritten.push_back({begin, static_cast<uint32_t>(out.text.size())});
  }
}

void MarkSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  text = text.substr(0, word.end);
  for (uint32_t begin = word.begin; begin < word.end;) {
    const size_t next = text.find(mark_, begin + 1);
    const uint32_t end = next == std::string_view::npos ? word.end : static_cast<uint32_t>(next);
    words.push_back({begin, end});
    begin = end;
  }
}

}  // namespace signalbox::tokenizer
