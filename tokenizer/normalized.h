#pragma once
// The data passed between stages: text in which every byte records its origin, and tokens. A
// normalizer appends to a Normalized, a splitter divides its text into words, and a model converts
// a word to tokens. Most text is not changed: then nothing is copied, no table is built, and a
// TextView refers to the caller's bytes.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

struct Normalized {
  std::string text;
  std::vector<Span> source;  // (text.size()): the original code point of each byte

  void clear() {
    text.clear();
    source.clear();
  }
  void append(char ascii, Span from) {
    text.push_back(ascii);
    source.push_back(from);
  }
  void append(char32_t code_point, Span from) {
    utf8::append(text, code_point);
    source.resize(text.size(), from);
  }
  /// Appends bytes that all originate from `from`.
  void append(std::string_view bytes, Span from) {
    text += bytes;
    source.resize(text.size(), from);
  }
};

/// Valid UTF-8 and the origin of each byte. It is a view of memory owned by others.
class TextView {
 public:
  /// The caller's unchanged bytes, which begin at byte `base` of the original.
  TextView(std::string_view text, uint32_t base) : text_(text), base_(base) {}
  /// Normalised text of the original that begins at byte `base`.
  explicit TextView(const Normalized& normalized, uint32_t base = 0)
      : text_(normalized.text), source_(normalized.source.data()), base_(base) {}

  std::string_view text() const { return text_; }
  /// The position of the text in the original.
  uint32_t base() const { return base_; }

  /// Returns the original code point for the code point at `position`, which is `bytes` long.
  Span source(uint32_t position, uint32_t bytes) const {
    if (source_ != nullptr) return source_[position];
    return {base_ + position, base_ + position + bytes};
  }

  /// Returns the original bytes of a range. The result consists of whole code points, even if the
  /// range covers only some bytes of one. The range must not be empty.
  Span original(Span range) const {
    if (source_ != nullptr) return {source_[range.begin].begin, source_[range.end - 1].end};
    while (is_continuation(range.begin)) --range.begin;
    while (range.end < text_.size() && is_continuation(range.end)) ++range.end;
    return {base_ + range.begin, base_ + range.end};
  }

  /// Appends whole code points unchanged.
  void copy_to(Normalized& out, Span range) const {
    out.text.append(text_, range.begin, range.end - range.begin);
    if (source_ != nullptr) {
      out.source.insert(out.source.end(), source_ + range.begin, source_ + range.end);
      return;
    }
    const size_t at = out.source.size();
    out.source.resize(out.text.size());
    Span* to = out.source.data() + at;
    for (uint32_t i = range.begin, next; i < range.end; i = next) {
      next = i + 1;
      while (next < range.end && is_continuation(next)) ++next;
      to = std::fill_n(to, next - i, Span{base_ + i, base_ + next});
    }
  }

 private:
  bool is_continuation(uint32_t i) const {
    return (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80;
  }

  std::string_view text_;
  const Span* source_ = nullptr;  // (text_.size()), or null if text_ is the original at base_
  uint32_t base_;
};

/// Returns the beginning of the code point that ends at `end`. Requires valid UTF-8 and end > 0.
inline uint32_t last_code_point(std::string_view text, uint32_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

struct Token {
  int32_t id;
  Span span;  // in the model's input text; the pipeline converts it to the original text
};

}  // namespace signalbox::tokenizer
