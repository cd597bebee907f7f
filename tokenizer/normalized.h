#pragma once
// What stands between the stages: text after normalisation that knows, byte by byte, where it came
// from, and tokens. A normalizer appends to a Normalized, a pretokenizer cuts its text into words,
// a model turns a word into tokens.

#include <cstdint>
#include <string>
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
  /// The original bytes that text[range] stands for. Precondition: range is not empty.
  Span original(Span range) const { return {source[range.begin].begin, source[range.end - 1].end}; }
};

struct Token {
  int32_t id;
  Span span;  // in the normalized text when a model makes it, in the original once the pipeline has
              // placed it
};

}  // namespace signalbox::tokenizer
