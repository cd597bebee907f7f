#pragma once
// UTF-8: decoding with one defined result for bad bytes, and code point counts for offsets that
// people see.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code_point;  // kReplacement when the bytes are not UTF-8
  uint32_t bytes;       // consumed, at least 1
};

/// Decodes the code point at text[position]; position < text.size(). Bytes that are not UTF-8
/// decode as the Unicode standard's "maximal subparts": one U+FFFD for each, so every reader of bad
/// text sees the same code points.
Decoded decode(std::string_view text, size_t position);

/// Appends one code point. Surrogates and values over U+10FFFF append U+FFFD.
void append(std::string& out, char32_t code_point);

/// Number of code points, each maximal subpart of bad bytes counted as one.
size_t count(std::string_view text);

/// Code points from `begin` up to places of a text that come in their order: each byte is counted
/// once, however many places.
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
