#pragma once
// Converts a text to the form that the rules read, with ASCII characters for their variants.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::pii {

/// Reads a text byte by byte. Arabic-Indic digits, fullwidth digits, letters and signs of
/// addresses, the ideographic space and the minus sign become ASCII, and zero-width characters
/// inside numbers are omitted. Each byte carries its position in the text, so that no table as long
/// as the text is needed.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : text_(text) {}

  /// Moves to the next byte, on the first call to the first; returns false after the last.
  bool next();
  char byte() const { return byte_; }
  /// The range of the text that the byte stands for.
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  std::string_view text_;
  size_t begin_ = 0, end_ = 0;
  char byte_ = '\0';
};

/// The whole converted text, or nullopt if it equals `text`. Takes time linear in the text.
std::optional<std::string> plain(std::string_view text);

}  // namespace signalbox::pii
