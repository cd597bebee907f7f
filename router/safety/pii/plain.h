#pragma once
// A text as the rules read it: what is written with other signs than ASCII's, written with those.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::pii {

/// Reads a text byte by byte with fullwidth digits, letters and signs of addresses, the ideographic
/// space and the minus sign written in ASCII, and without what has no width inside of numbers. Each
/// byte says what it stands for, so that nobody keeps a table of places as long as the text.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : text_(text) {}

  /// Goes to the next byte, the first at first; false behind the last.
  bool next();
  char byte() const { return byte_; }
  /// The place in the text of what it stands for.
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  std::string_view text_;
  size_t begin_ = 0, end_ = 0;
  char byte_ = '\0';
};

/// All that it reads. None where that is the text itself. In time linear in the text.
std::optional<std::string> plain(std::string_view text);

}  // namespace signalbox::pii
