#pragma once
// The character classes that Hugging Face's tokenizers uses. They are not those of current Unicode:
// categories come from Unicode 8 (crate unicode_categories), decompositions and combining classes
// from Unicode 9 (unicode-normalization-alignments), the classes of regular expressions from
// Unicode 16 (regex, Oniguruma), and lower case and numeric properties from Unicode 17 (Rust's
// standard library). The data comes from utf8proc (Unicode 15), with the differences as short
// tables in unicode.cc. tests/tokenizer/unicode_test.cc contains the digest of each function over
// every code point, so another utf8proc cannot change an id unnoticed. All functions are pure and
// thread-safe. A code point is any value up to U+10FFFF.

#include <array>
#include <cstdint>
#include <vector>

namespace signalbox::tokenizer::unicode {

constexpr uint32_t kExpansionMax = 18;  // U+FDFA, to compatibility characters

/// The result of mapping one code point: its lower case or decomposition.
struct Expansion {
  std::array<char32_t, kExpansionMax> code_points;  // (size)
  uint32_t size;
};

/// The general categories, in utf8proc's order.
enum class Category : uint8_t {
  // clang-format off
  kCn, kLu, kLl, kLt, kLm, kLo, kMn, kMc, kMe, kNd, kNl, kNo, kPc, kPd, kPs, kPe, kPi, kPf, kPo,
  kSm, kSc, kSk, kSo, kZs, kZl, kZp, kCc, kCf, kCs, kCo,
  // clang-format on
};

/// General category in Unicode 16, for \p{..} in regular expressions.
Category category(char32_t c);

/// Property White_Space.
bool is_whitespace(char32_t c);

/// Category Cc, Cf or Co; includes tab, line feed and carriage return.
bool is_control(char32_t c);

/// ASCII punctuation and symbols, and all P* categories.
bool is_punctuation(char32_t c);

/// Category Mn.
bool is_nonspacing_mark(char32_t c);

/// Category M in Unicode 9.
bool is_mark(char32_t c);

/// \w in regular expressions: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t c);

/// Category N* in Unicode 17.
bool is_numeric(char32_t c);

/// The classes in GPT-2's pattern: \p{L}, \p{N}, \s and the rest.
enum class Class : uint8_t { kOther, kLetter, kNumber, kSpace };

/// The class of every code point in 2 bits. Identical pages of 256 are stored once, so the table is
/// 13 KB and the scripts of one text stay in the first-level cache.
class ClassTable {
 public:
  /// Returns the table, which is built at the first call.
  static const ClassTable& get();

  Class of(char32_t c) const {
    const Page& page = pages_[page_of_[c >> 8]];
    return static_cast<Class>(page[(c & 0xFF) >> 2] >> 2 * (c & 3) & 3);
  }

 private:
  ClassTable();
  using Page = std::array<uint8_t, 64>;
  std::array<uint8_t, 0x1100> page_of_{};
  std::vector<Page> pages_;
};

/// Canonical combining class; 0 for starters.
uint8_t combining_class(char32_t c);

/// Full canonical decomposition of one code point; itself if it has none.
Expansion decompose(char32_t c);
/// decompose() with compatibility decompositions.
Expansion decompose_compatible(char32_t c);

/// Returns the primary composite of two code points, including Hangul, or 0.
char32_t compose(char32_t first, char32_t second);

/// Rust's char::to_lowercase: without context, so a final sigma becomes a normal one; U+0130 gives
/// two code points.
Expansion to_lower(char32_t c);

}  // namespace signalbox::tokenizer::unicode
