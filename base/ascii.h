#pragma once
// ASCII character classes and case conversion, independent of the locale. Bytes outside ASCII
// belong to no class and have no case.

#include <algorithm>
#include <string>
#include <string_view>

namespace signalbox::ascii {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_alpha(char c) {
  return is_upper(c) || is_lower(c);
}
constexpr bool is_alnum(char c) {
  return is_alpha(c) || is_digit(c);
}
constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
/// True for a letter, a digit, or any byte of a non-ASCII character, which counts as a letter.
constexpr bool is_word_byte(char c) {
  return is_alnum(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}

constexpr char lower(char c) {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char upper(char c) {
  return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}
/// Returns the text without white space around it.
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}
inline std::string upper_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), upper);
  return out;
}
/// Lower-cases the text and replaces '-' and spaces with '_'.
inline std::string snake_case(std::string_view text) {
  std::string out = lower_case(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return out;
}
/// Compares two strings, ignoring the case of ASCII letters.
constexpr bool iequals(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace signalbox::ascii
