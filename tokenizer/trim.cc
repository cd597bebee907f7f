// Counts code points only forwards, so that invalid UTF-8 is counted as everywhere else.

#include "tokenizer/trim.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

constexpr char32_t kVisibleSpace = 0x120;

bool is_space(char32_t c) {
  return c == kVisibleSpace || unicode::is_whitespace(c);
}

// Returns the position `code_points` after `begin`, at most `end`.
uint32_t advance(std::string_view text, uint32_t begin, uint32_t end, uint32_t code_points) {
  for (; code_points > 0 && begin < end; --code_points) begin += utf8::decode(text, begin).bytes;
  return begin;
}

uint32_t count(std::string_view text, Span range) {
  return static_cast<uint32_t>(utf8::count(text.substr(range.begin, range.end - range.begin)));
}

}  // namespace

Spaces spaces_of(std::string_view token) {
  Spaces out;
  bool only = true;
  for (size_t i = 0; i < token.size();) {
    const utf8::Decoded decoded = utf8::decode(token, i);
    const bool space = is_space(decoded.code_point);
    only &= space;
    out.leading += only ? 1 : 0;
    out.trailing = space ? out.trailing + 1 : 0;
    i += decoded.bytes;
  }
  return out;
}

std::vector<Spaces> spaces_of_pieces(const Vocabulary& vocabulary) {
  std::vector<Spaces> out(static_cast<size_t>(vocabulary.ids_end()));
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const Vocabulary::Entry entry = vocabulary.entry(i);
    out[static_cast<size_t>(entry.id)] = spaces_of(entry.piece);
  }
  return out;
}

Span trimmed(std::string_view text, Span range, Spaces spaces, bool is_first,
             bool add_prefix_space) {
  const bool was_added = add_prefix_space && spaces.leading == 1 && (is_first || range.begin == 0);
  if (!was_added) range.begin = advance(text, range.begin, range.end, spaces.leading);
  if (spaces.trailing == 0) return range;
  const uint32_t held = count(text, range);
  if (held >= spaces.trailing) {
    range.end = advance(text, range.begin, range.end, held - spaces.trailing);
  } else if (count(text, {0, advance(text, 0, range.end, spaces.trailing)}) == spaces.trailing) {
    // The reference does not move the end if the whole text before it has fewer code points than
    // the token's string has spaces.
    range.end = range.begin;
  }
  return range;
}

}  // namespace signalbox::tokenizer
