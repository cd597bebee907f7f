// utf8proc's adapter, with the corrections that make it agree with the reference.

#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <span>

#include "base/error.h"

namespace signalbox::tokenizer::unicode {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Code points that are Mn, P* or Cf now and were unassigned in Unicode 8. A range may run over
// others between them.
constexpr Range kCategorySinceUnicode9[] = {
    {0x061D, 0x061D},   {0x07FD, 0x07FD},   {0x0890, 0x08E2},   {0x09FD, 0x09FE},
    {0x0A76, 0x0A76},   {0x0AFA, 0x0AFF},   {0x0B55, 0x0B55},   {0x0C04, 0x0C3C},
    {0x0C77, 0x0C77},   {0x0C84, 0x0C84},   {0x0D00, 0x0D00},   {0x0D3B, 0x0D3C},
    {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},   {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},
    {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9},
    {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455},
    {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
    {0x1E944, 0x1E95F},
};

// The same for code points with a combining class or a decomposition, unassigned in Unicode 9.
constexpr Range kMarkSinceUnicode10[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},
    {0x0D3B, 0x0D3C},   {0x0EBA, 0x0EBA},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10F85}, {0x11070, 0x11070},
    {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x11A99}, {0x11D42, 0x11F42},
    {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E4EF},
};

// Letters, marks, digits and connectors of Unicode 16, which utf8proc 2.8 finds unassigned.
constexpr Range kWordSinceUnicode16[] = {
    {0x0897, 0x0897},   {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},
    {0x105C0, 0x105F3}, {0x10D40, 0x10D65}, {0x10D69, 0x10D6D}, {0x10D6F, 0x10D85},
    {0x10EC2, 0x10EC4}, {0x10EFC, 0x10EFC}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113C0}, {0x113C2, 0x113C2},
    {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D3}, {0x113E1, 0x113E2},
    {0x116D0, 0x116E3}, {0x11BC0, 0x11BE0}, {0x11BF0, 0x11BF9}, {0x11F5A, 0x11F5A},
    {0x13460, 0x143FA}, {0x16100, 0x16139}, {0x16D40, 0x16D6C}, {0x16D70, 0x16D79},
    {0x18CFF, 0x18CFF}, {0x1CCF0, 0x1CCF9}, {0x1E5D0, 0x1E5FA}, {0x2EBF0, 0x2EE5D},
};

// Letters (a subset of the above) and numbers of Unicode 16.
constexpr Range kLetterSinceUnicode16[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
    {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
    {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
    {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA},
    {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
    {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D},
};
constexpr Range kNumberSinceUnicode16[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139},
    {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA},
};

bool contains(std::span<const Range> ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t x, const Range& range) { return x < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_known_category(char32_t c) {
  return !contains(kCategorySinceUnicode9, c);
}

bool is_number(char32_t c) {
  const utf8proc_category_t found = category(c);
  return (found >= UTF8PROC_CATEGORY_ND && found <= UTF8PROC_CATEGORY_NO) ||
         contains(kNumberSinceUnicode16, c);
}

Class class_of(char32_t c) {
  if (is_whitespace(c)) return Class::kSpace;
  if (is_number(c)) return Class::kNumber;
  const utf8proc_category_t found = category(c);
  const bool letter = found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
  return letter || contains(kLetterSinceUnicode16, c) ? Class::kLetter : Class::kOther;
}

// Pairs of Unicode 16 and 17, which utf8proc 2.8 lacks; c itself otherwise.
char32_t to_lower_since_unicode16(char32_t c) {
  switch (c) {
    case 0xA7CB:
      return 0x0264;
    case 0xA7DC:
      return 0x019B;
    case 0x1C89:
    case 0xA7CC:
    case 0xA7CE:
    case 0xA7D2:
    case 0xA7D4:
    case 0xA7DA:
      return c + 1;
    default:
      break;
  }
  if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;  // Garay
  if (c >= 0x16EA0 && c <= 0x16EB8) return c + 0x1B;  // Beria Erfe
  return c;
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CO:
      return true;
    case UTF8PROC_CATEGORY_CF:
      return is_known_category(c);
    default:
      return false;
  }
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  // Punctuation until Unicode 10: a sign of Canadian syllabics, now a symbol, and of Sharada, now a
  // mark.
  if (c == 0x166D || c == 0x111C9) return true;
  const utf8proc_category_t found = category(c);
  return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO && is_known_category(c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // Hanunoo's pamudpod: a spacing mark since Unicode 14
  return category(c) == UTF8PROC_CATEGORY_MN && is_known_category(c);
}

bool is_word(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    case UTF8PROC_CATEGORY_SO:  // circled and squared letters are alphabetic
      return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
             (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
    case UTF8PROC_CATEGORY_CN:
      return contains(kWordSinceUnicode16, c);
    default:
      return c == 0x200C || c == 0x200D;  // joiners
  }
}

bool is_numeric(char32_t c) {
  // Two scripts of Unicode 17.
  return is_number(c) || (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
}

const ClassTable& ClassTable::get() {
  static const ClassTable table;
  return table;
}

ClassTable::ClassTable() {
  constexpr char32_t kClassedEnd = 0x33500;  // beyond the last letter: all other
  pages_.push_back({});                      // all other
  for (char32_t first = 0; first < kClassedEnd; first += 0x100) {
    Page page{};
    for (char32_t i = 0; i < 0x100; ++i) {
      page[i >> 2] |=
          static_cast<uint8_t>(static_cast<uint32_t>(class_of(first + i)) << 2 * (i & 3));
    }
    const auto found = std::find(pages_.begin(), pages_.end(), page);
    page_of_[first >> 8] = static_cast<uint8_t>(found - pages_.begin());
    if (found == pages_.end()) pages_.push_back(page);
  }
  SIGNALBOX_CHECK(pages_.size() <= 0x100);
}

uint8_t combining_class(char32_t c) {
  const auto found = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  return found == 0 || contains(kMarkSinceUnicode10, c) ? 0 : static_cast<uint8_t>(found);
}

Expansion decompose(char32_t c) {
  Expansion out{{c}, 1};
  utf8proc_int32_t found[4];
  int boundary_class = 0;  // asked for by the interface, used for grapheme clusters only
  const auto size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), found, 4,
                                            UTF8PROC_DECOMPOSE, &boundary_class);
  SIGNALBOX_CHECK(size >= 1 && size <= 4);
  if ((size == 1 && found[0] == static_cast<utf8proc_int32_t>(c)) ||
      contains(kMarkSinceUnicode10, c)) {
    return out;
  }
  out.size = static_cast<uint32_t>(size);
  std::copy_n(found, size, out.code_points.begin());
  return out;
}

Expansion to_lower(char32_t c) {
  if (c == 0x130) return {{'i', 0x307}, 2};
  const auto found = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return {{found != c ? found : to_lower_since_unicode16(c)}, 1};
}

}  // namespace signalbox::tokenizer::unicode
