#pragma once
// Decodes UTF-8 with a defined result for invalid bytes, and counts code points for the offsets
// shown to users.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code_point;  // kReplacement if the bytes are not UTF-8
  uint32_t bytes;       // consumed, at least 1
};

/// Decodes the code point at text[position]; requires position < text.size(). Each invalid sequence
/// decodes to one U+FFFD, by the Unicode standard's rule of "maximal subparts", so every reader of
/// bad text sees the same code points.
Decoded decode(std::string_view text, size_t position);

/// Appends one code point. Surrogates and values over U+10FFFF append U+FFFD.
void append(std::string& out, char32_t code_point);

/// Returns the number of code points. Each maximal subpart of invalid bytes counts as one.
size_t count(std::string_view text);

/// Converts ascending byte positions to code point counts from `begin`. Each byte is scanned once,
/// regardless of the number of positions.
class Points {
 public:
  explicit Points(std::string_view text, size_t begin = 0) : text_(text), at_(begin) {}
  uint64_t up_to(size_t place) {
    points_ += count(text_.substr(at_, place - at_));
    at_ = place;
    return points_;
  }

 private:
  std::string_view text_;
  size_t at_;
  uint64_t points_ = 0;
};

bool is_valid(std::string_view text);

}  // namespace signalbox::utf8
