#pragma once
// Classes of ASCII characters, in no locale. Other bytes belong to none.

namespace signalbox::ascii {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr char lower(char c) {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr bool is_alpha(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace signalbox::ascii
