// Each splitter makes one pass, with a table for ASCII.

#include "tokenizer/split/char_splitter.h"

#include <utility>

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

enum class CharClass : uint8_t { kWord, kOther, kSpace };

CharClass char_class(char32_t c) {
  if (unicode::is_word(c)) return CharClass::kWord;
  return unicode::is_whitespace(c) ? CharClass::kSpace : CharClass::kOther;
}

const std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> table;
  for (char32_t c = 0; c < table.size(); ++c) table[c] = char_class(c);
  return table;
}();

}  // namespace

CharSplitter::CharSplitter(Predicate is_delimiter, Behavior behavior)
    : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {
  for (char32_t c = 0; c < ascii_.size(); ++c) ascii_[c] = is_delimiter_(c);
}

void CharSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  DelimiterWalk walk(behavior_, false, word, words);
  for (uint32_t i = word.begin; i < word.end;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      if (ascii_[byte]) walk.match({i, i + 1});
      ++i;
      continue;
    }
    const utf8::Decoded decoded = utf8::decode(text, i);
    if (is_delimiter_(decoded.code_point)) walk.match({i, i + decoded.bytes});
    i += decoded.bytes;
  }
  walk.finish();
}

void WordSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  CharClass run = CharClass::kSpace;
  uint32_t begin = word.begin;  // beginning of the run
  for (uint32_t i = word.begin; i < word.end;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const utf8::Decoded decoded = byte < 0x80 ? utf8::Decoded{byte, 1} : utf8::decode(text, i);
    const CharClass found = byte < 0x80 ? kAsciiClasses[byte] : char_class(decoded.code_point);
    if (found != run) {
      if (run != CharClass::kSpace) words.push_back({begin, i});
      run = found;
      begin = i;
    }
    i += decoded.bytes;
  }
  if (run != CharClass::kSpace) words.push_back({begin, word.end});
}

void LengthSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  uint32_t begin = word.begin;
  int64_t count = 0;
  for (uint32_t i = word.begin; i < word.end;) {
    i += utf8::decode(text, i).bytes;
    if (++count < code_points_ && i < word.end) continue;
    words.push_back({begin, i});
    begin = i;
    count = 0;
  }
}

}  // namespace signalbox::tokenizer
