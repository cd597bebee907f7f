#pragma once
// What stands between the stages: text that knows, byte by byte, where it came from, and tokens. A
// normalizer appends to a Normalized, a splitter cuts its text into words, a model turns a word
// into tokens. Most text is changed by nothing: then no byte is copied and no table is made, and a
// TextView looks at the caller's own bytes.

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
  std::vector<Span> source;  // (text.size()): the original code point that each byte stands for

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
  /// Appends bytes that all stand for `from`.
  void append(std::string_view bytes, Span from) {
    text += bytes;
    source.resize(text.size(), from);
  }
};

/// Valid UTF-8 and where each byte of it came from; looks at memory that others own.
class TextView {
 public:
  /// The caller's own bytes, which nothing has changed: they begin at byte `base` of the original.
  TextView(std::string_view text, uint32_t base) : text_(text), base_(base) {}
  /// What was made of the text that begins at byte `base` of the original.
  explicit TextView(const Normalized& normalized, uint32_t base = 0)
      : text_(normalized.text), source_(normalized.source.data()), base_(base) {}

  std::string_view text() const { return text_; }
  /// Where the text begins in the original.
  uint32_t base() const { return base_; }

  /// The original code point that the code point at `position`, `bytes` long, stands for.
  Span source(uint32_t position, uint32_t bytes) const {
    if (source_ != nullptr) return source_[position];
    return {base_ + position, base_ + position + bytes};
  }

  /// The original bytes that a range stands for: whole code points, also where the range holds only
  /// some bytes of one. Precondition: range is not empty.
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
  const Span* source_ = nullptr;  // (text_.size()), or none: text_ is the original at base_
  uint32_t base_;
};

/// Where the code point that ends at `end` begins. Preconditions: valid UTF-8, end > 0.
inline uint32_t last_code_point(std::string_view text, uint32_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

struct Token {
  int32_t id;
  Span span;  // in the text that the model read; in the original once the pipeline has placed it
};

}  // namespace signalbox::tokenizer
