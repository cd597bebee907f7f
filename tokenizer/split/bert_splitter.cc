// One pass; a table classifies ASCII.

#include "tokenizer/split/bert_splitter.h"

#include <array>

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

enum class BertClass : uint8_t { kWord, kSpace, kPunctuation };

BertClass bert_class(char32_t c) {
  if (unicode::is_whitespace(c)) return BertClass::kSpace;
  return unicode::is_punctuation(c) ? BertClass::kPunctuation : BertClass::kWord;
}

const std::array<BertClass, 128> kBertAscii = [] {
  std::array<BertClass, 128> table;
  for (char32_t c = 0; c < table.size(); ++c) table[c] = bert_class(c);
  return table;
}();

}  // namespace

void BertSplitter::split(std::string_view text, Span part, std::vector<Span>& words) const {
  uint32_t word = part.begin;  // beginning of the current word
  const auto end_word = [&](uint32_t end) {
    if (word < end) words.push_back({word, end});
  };
  for (uint32_t i = part.begin; i < part.end;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const utf8::Decoded decoded = byte < 0x80 ? utf8::Decoded{byte, 1} : utf8::decode(text, i);
    const uint32_t next = i + decoded.bytes;
    const BertClass found = byte < 0x80 ? kBertAscii[byte] : bert_class(decoded.code_point);
    if (found != BertClass::kWord) {
      end_word(i);
      if (found == BertClass::kPunctuation) words.push_back({i, next});
      word = next;
    }
    i = next;
  }
  end_word(part.end);
}

}  // namespace signalbox::tokenizer
