#pragma once
// Text made comparable: case, white space, and where words begin and end.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::text {

/// What a character is to a reader of words. kUnseparated: of a script that writes words without
/// spaces, or glues particles to them; each stands for itself.
enum class CharKind : uint8_t { kSpace, kWord, kUnseparated, kOther };

CharKind kind_of(char32_t c);
/// Simple lower-case mapping.
char32_t lower_case(char32_t c);

/// Writes `text` to `out` (replaced) with every run of white space as one space and, if `lower`,
/// every code point by its simple lower-case mapping. Bytes that are not UTF-8 become U+FFFD.
void normalize(std::string_view text, bool lower, std::string& out);

/// The letters without case and marks: "Zürich" is "zurich", "Łódź" is "lodz". Not for scripts
/// whose marks are vowels.
std::string bare_letters(std::string_view text);

/// True when a letter, digit, mark or underscore of a script that puts spaces between words starts
/// at (ends before) `position`. Chinese, Japanese, Thai and the like do not, and Korean appends its
/// particles to words: there a keyword may stand anywhere.
bool word_starts_at(std::string_view text, size_t position);
bool word_ends_at(std::string_view text, size_t position);

/// A word, or one character of a script that does not separate words. Bytes, half-open.
struct TextUnit {
  uint32_t begin, end;
};

/// The units of `text` (under 4 GiB) in their order; `out` is replaced. Punctuation and white space
/// belong to none.
void split_units(std::string_view text, std::vector<TextUnit>& out);

}  // namespace signalbox::text
