#pragma once
// Normalizes text for comparison: case, white space and word boundaries.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::text {

/// The class of a character for splitting words. kUnseparated: a character of a script that writes
/// words without spaces or attaches particles to them; each is a unit of its own.
enum class CharKind : uint8_t { kSpace, kWord, kUnseparated, kOther };

CharKind kind_of(char32_t c);
/// Returns whether Unicode counts the character as a letter: no digit, no mark, no underscore.
bool is_letter(char32_t c);
/// Simple lower-case mapping.
char32_t lower_case(char32_t c);

/// Returns the ASCII letter, digit or sign that a character beyond ASCII is a variant of, such as a
/// fullwidth or mathematical letter (NFKC); 0 if there is none.
char ascii_of(char32_t c);

/// Returns whether the character takes no place and stands for nothing, such as a zero-width space.
bool is_invisible(char32_t c);

/// Replaces `out` by `text` with every run of white space as one space and, if `lower`, every code
/// point in simple lower case. Bytes that are not UTF-8 become U+FFFD.
void normalize(std::string_view text, bool lower, std::string& out);

/// Returns the text in the composed form (NFC). Requires UTF-8, as normalize() makes it. After 30
/// marks in a row U+034F is inserted (the Stream-Safe Text Format of UAX #15), so that marks cost
/// linear time.
std::string compose(std::string_view text);

/// Returns the letters in lower case without diacritical marks: "Zürich" becomes "zurich", "Łódź"
/// becomes "lodz". Not suitable for scripts whose marks are vowels.
std::string bare_letters(std::string_view text);

/// Returns whether a word character (letter, digit, mark or underscore) of a script that puts
/// spaces between words starts at (ends before) `position`. Chinese, Japanese, Thai and similar
/// scripts use no spaces, and Korean attaches particles to words, so a keyword in them may occur
/// anywhere.
bool word_starts_at(std::string_view text, size_t position);
bool word_ends_at(std::string_view text, size_t position);

/// A word, or one character of a script that does not separate words. Bytes, half-open.
struct TextUnit {
  uint32_t begin, end;
};

/// Replaces `out` by the units of `text` (under 4 GiB) in their order. Punctuation and white space
/// belong to no unit.
void split_units(std::string_view text, std::vector<TextUnit>& out);

}  // namespace signalbox::text
