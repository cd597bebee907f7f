// A table handles ASCII; utf8proc handles the rest, with categories and a lower-case mapping that
// agree with ICU's.

#include "router/text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::text {
namespace {

struct Range {
  char32_t first, last;
};

// Sorting a run of marks takes quadratic time. U+034F, a mark of no class, ends a run.
constexpr size_t kMarksMax = 30;
constexpr char32_t kJoiner = 0x034F;

// Blocks of scripts that write words without spaces or (Hangul) attach particles to words. Sorted.
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
  return c < 0x80 && (ascii::is_alnum(static_cast<char>(c)) || c == '_');
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
  if (c < 0x80) return ascii::is_space(static_cast<char>(c));
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// ASCII mappings: white space to a space, and in the second table also upper case to lower case.
constexpr std::array<std::array<char, 128>, 2> kNormalizedAscii = [] {
  std::array<std::array<char, 128>, 2> tables{};
  for (int c = 0; c < 128; ++c) {
    const auto byte = static_cast<char>(c);
    const auto index = static_cast<size_t>(c);
    tables[0][index] = ascii::is_space(byte) ? ' ' : byte;
    tables[1][index] = ascii::lower(tables[0][index]);
  }
  return tables;
}();

// Returns the position of the next byte that is not ASCII; scans eight bytes at a time.
size_t ascii_end(std::string_view text, size_t at) {
  constexpr uint64_t kHigh = 0x8080808080808080u;
  for (uint64_t bytes = 0; at + sizeof(bytes) <= text.size(); at += sizeof(bytes)) {
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    if ((bytes & kHigh) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// Letters that decomposition does not reduce to their base letters.
struct Stroke {
  char32_t letter;
  std::string_view base;
};
constexpr std::array<Stroke, 9> kStrokes{{{U'ß', "ss"},
                                          {U'æ', "ae"},
                                          {U'ð', "d"},
                                          {U'ø', "o"},
                                          {U'þ', "th"},
                                          {U'đ', "d"},
                                          {U'ı', "i"},
                                          {U'ł', "l"},
                                          {U'œ', "oe"}}};

void append_base_letters(char32_t c, std::string& out) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
    return;
  }
  const auto stroke = std::ranges::find(kStrokes, c, &Stroke::letter);
  if (stroke != kStrokes.end()) {
    out += stroke->base;
    return;
  }
  std::array<utf8proc_int32_t, 8> parts;
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             parts.size(), UTF8PROC_DECOMPOSE, &boundary);
  if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    utf8::append(out, c);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const auto part = static_cast<char32_t>(parts[static_cast<size_t>(i)]);
    if (part < 0x300 || part > 0x36F) utf8::append(out, part);
  }
}

}  // namespace

CharKind kind_of(char32_t c) {
  if (is_space(c)) return CharKind::kSpace;
  if (!is_letter_like(c)) return CharKind::kOther;
  return c >= 0x80 && is_unseparated(c) ? CharKind::kUnseparated : CharKind::kWord;
}

bool is_letter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x180E || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF || c == 0xE0001 || c == 0xE007F;
}

char ascii_of(char32_t c) {
  std::array<utf8proc_int32_t, 4> parts;
  int boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             parts.size(), options, &boundary);
  return count == 1 && parts[0] > ' ' && parts[0] < 0x7F ? static_cast<char>(parts[0]) : '\0';
}

char32_t lower_case(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void normalize(std::string_view text, bool lower, std::string& out) {
  const std::array<char, 128>& ascii = kNormalizedAscii[lower ? 1 : 0];
  out.clear();
  out.reserve(text.size());
  bool in_space = false;
  for (size_t i = 0; i < text.size();) {
    const size_t end = ascii_end(text, i);
    const size_t begin = out.size();
    out.resize(begin + (end - i));
    char* write = out.data() + begin;
    for (; i < end; ++i) {
      const char c = ascii[static_cast<unsigned char>(text[i])];
      *write = c;
      write += c == ' ' && in_space ? 0 : 1;
      in_space = c == ' ';
    }
    out.resize(static_cast<size_t>(write - out.data()));
    if (i == text.size()) break;
    const utf8::Decoded decoded = utf8::decode(text, i);
    i += decoded.bytes;
    const char32_t c = lower ? lower_case(decoded.code_point) : decoded.code_point;
    const bool space = is_space(c);
    if (!space) {
      utf8::append(out, c);
    } else if (!in_space) {
      out.push_back(' ');
    }
    in_space = space;
  }
}

std::string compose(std::string_view text) {
  std::string parted;
  size_t marks = 0;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded at = utf8::decode(text, i);
    const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(at.code_point));
    marks = property->combining_class == 0 ? 0 : marks + 1;
    if (marks > kMarksMax) {
      utf8::append(parted, kJoiner);
      marks = 1;
    }
    parted += text.substr(i, at.bytes);
    i += at.bytes;
  }
  utf8proc_uint8_t* composed = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto bytes = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(parted.data()),
                                  static_cast<utf8proc_ssize_t>(parted.size()), &composed, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  return bytes < 0
             ? parted
             : std::string(reinterpret_cast<const char*>(composed), static_cast<size_t>(bytes));
}

std::string bare_letters(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, i);
    i += decoded.bytes;
    append_base_letters(lower_case(decoded.code_point), out);
  }
  return out;
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

}  // namespace signalbox::text
