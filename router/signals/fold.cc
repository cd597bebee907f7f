// ASCII goes through a table; the rest through utf8proc, whose categories and lower-case mapping
// agree with ICU's.

#include "router/signals/fold.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace signalbox::router {
namespace {

struct Range {
  char32_t first, last;
};

// Blocks of scripts that write words without spaces, or (Hangul) glue particles to them. Sorted.
constexpr std::array<Range, 20> kUnseparated{{
    {0x0E00, 0x0FFF},    // Thai, Lao, Tibetan
    {0x1000, 0x109F},    // Myanmar
    {0x1100, 0x11FF},    // Hangul Jamo
    {0x1780, 0x17FF},    // Khmer
    {0x1980, 0x19FF},    // New Tai Lue, Khmer symbols
    {0x1A20, 0x1AAF},    // Tai Tham
    {0x2E80, 0x2FDF},    // CJK radicals
    {0x3005, 0x3007},    // ideographic iteration mark, closing mark, zero
    {0x3021, 0x303C},    // Hangzhou numerals and the like
    {0x3040, 0x312F},    // Hiragana, Katakana, Bopomofo
    {0x3130, 0x31FF},    // Hangul compatibility Jamo, Kanbun, strokes
    {0x3400, 0x4DBF},    // CJK extension A
    {0x4E00, 0xA4CF},    // CJK, Yi
    {0xA960, 0xA97F},    // Hangul Jamo extended
    {0xAA60, 0xAADF},    // Myanmar extended, Tai Viet
    {0xAC00, 0xD7FF},    // Hangul syllables
    {0xF900, 0xFAFF},    // CJK compatibility
    {0xFF66, 0xFFDC},    // half-width Katakana and Hangul
    {0x1B000, 0x1B16F},  // Kana supplements
    {0x20000, 0x3FFFF},  // CJK extensions
}};

bool is_unseparated(char32_t c) {
  const auto after =
      std::upper_bound(kUnseparated.begin(), kUnseparated.end(), c,
                       [](char32_t value, const Range& range) { return value < range.first; });
  return after != kUnseparated.begin() && c <= std::prev(after)->last;
}

bool is_ascii_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_letter_like(char32_t c) {
  if (c < 0x80) return is_ascii_word(c);
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) ||
         category == UTF8PROC_CATEGORY_PC;
}

bool is_word(char32_t c) {
  return is_letter_like(c) && (c < 0x80 || !is_unseparated(c));
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

char32_t to_lower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

void fold(std::string_view text, bool lower, std::string& out) {
  out.clear();
  out.reserve(text.size() +
              text.size() /
                  2);  // a lower-case letter may be longer: U+023A has two bytes, U+2C65 three
  bool in_space = false;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    char32_t c = byte;
    if (byte < 0x80) {
      ++i;
      if (lower && byte >= 'A' && byte <= 'Z') c = byte + 32u;
    } else {
      const utf8::Decoded decoded = utf8::decode(text, i);
      i += decoded.bytes;
      c = lower ? to_lower(decoded.code_point) : decoded.code_point;
    }
    if (is_space(c)) {
      if (!in_space) out.push_back(' ');
      in_space = true;
      continue;
    }
    in_space = false;
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else {
      utf8::append(out, c);
    }
  }
}

bool word_starts_at(std::string_view text, size_t position) {
  return position < text.size() && is_word(utf8::decode(text, position).code_point);
}

bool word_ends_at(std::string_view text, size_t position) {
  if (position == 0) return false;
  size_t start = position - 1;
  while (start > 0 && position - start < 4 &&
         (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
    --start;
  return is_word(utf8::decode(text, start).code_point);
}

void split_units(std::string_view text, std::vector<TextUnit>& out) {
  out.clear();
  bool in_word = false;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded at = utf8::decode(text, i);
    const auto begin = static_cast<uint32_t>(i);
    i += at.bytes;
    const auto end = static_cast<uint32_t>(i);
    const bool counts = is_letter_like(at.code_point);
    const bool alone = counts && at.code_point >= 0x80 && is_unseparated(at.code_point);
    if (counts && !alone && in_word) {
      out.back().end = end;
    } else if (counts) {
      out.push_back({begin, end});
    }
    in_word = counts && !alone;
  }
}

}  // namespace signalbox::router
