// One pass; ASCII is classified by a table.

#include "tokenizer/bert_splitter.h"

#include <array>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace signalbox::tokenizer {
namespace {

enum class Class : uint8_t { kWord, kSpace, kPunctuation };

Class classify(char32_t c) {
  if (unicode::is_whitespace(c)) return Class::kSpace;
  return unicode::is_punctuation(c) ? Class::kPunctuation : Class::kWord;
}

const std::array<Class, 128> kAscii = [] {
  std::array<Class, 128> table;
  for (char32_t c = 0; c < table.size(); ++c) table[c] = classify(c);
  return table;
}();

}  // namespace

void BertSplitter::split(std::string_view text, Span part, std::vector<Span>& words) const {
  uint32_t word = part.begin;  // where the current word began
  const auto end_word = [&](uint32_t end) {
    if (word < end) words.push_back({word, end});
  };
  for (uint32_t i = part.begin; i < part.end;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const utf8::Decoded decoded = byte < 0x80 ? utf8::Decoded{byte, 1} : utf8::decode(text, i);
    const uint32_t next = i + decoded.bytes;
    const Class found = byte < 0x80 ? kAscii[byte] : classify(decoded.code_point);
    if (found != Class::kWord) {
      end_word(i);
      if (found == Class::kPunctuation) words.push_back({i, next});
      word = next;
    }
    i = next;
  }
  end_word(part.end);
}

}  // namespace signalbox::tokenizer
