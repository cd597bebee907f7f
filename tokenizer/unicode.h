#pragma once
// The character classes that Hugging Face's tokenizers sees, which are not today's Unicode: it
// reads categories from tables of Unicode 8 (crate unicode_categories), decompositions and
// combining classes from Unicode 9 (unicode-normalization-alignments), what regular expressions ask
// for from Unicode 16 (regex, Oniguruma), lower case and what is numeric from Unicode 17 (Rust's
// standard library). The data is utf8proc's (Unicode 15) and the differences are short tables in
// unicode.cc. The digest of each function over every code point is in
// tests/tokenizer/unicode_test.cc, so another utf8proc cannot shift an id unnoticed. Everything
// here is pure and thread-safe; a code point is any value up to U+10FFFF.

#include <array>
#include <cstdint>
#include <vector>

namespace signalbox::tokenizer::unicode {

constexpr uint32_t kExpansionMax = 18;  // U+FDFA, to compatible characters

/// What one code point becomes: its lower case, its decomposition.
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

/// General category in Unicode 16, as \p{..} of a regular expression has it.
Category category(char32_t c);

/// Property White_Space.
bool is_whitespace(char32_t c);

/// Category Cc, Cf or Co; tab, line feed and carriage return included.
bool is_control(char32_t c);

/// ASCII's punctuation and symbols, and every category P*.
bool is_punctuation(char32_t c);

/// Category Mn.
bool is_nonspacing_mark(char32_t c);

/// Category M in Unicode 9.
bool is_mark(char32_t c);

/// What a regular expression calls \w: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t c);

/// Category N*, of Unicode 17.
bool is_numeric(char32_t c);

/// What GPT-2's pattern tells apart: \p{L}, \p{N}, \s and the rest.
enum class Class : uint8_t { kOther, kLetter, kNumber, kSpace };

/// The class of every code point in 2 bits; pages of 256 that are alike are kept once, so all of it
/// is 13 KB and the scripts of one text stay in the first cache.
class ClassTable {
 public:
  /// The table, built at the first call.
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

/// Full canonical decomposition of one code point, itself when it has none.
Expansion decompose(char32_t c);
/// The same with compatibility decompositions.
Expansion decompose_compatible(char32_t c);

/// The primary composite of two code points, Hangul included, or 0.
char32_t compose(char32_t first, char32_t second);

/// Rust's char::to_lowercase: no context, so a final sigma is a plain one; U+0130 gives two code
/// points.
Expansion to_lower(char32_t c);

}  // namespace signalbox::tokenizer::unicode
