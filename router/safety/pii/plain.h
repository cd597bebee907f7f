#pragma once
// Converts a text to the form that the rules read, with ASCII characters for their variants.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::pii {

/// Zero-width characters may interrupt data, or separate it from words. So a text that has some is
/// read in all of these ways. kOmittedInRuns keeps those between a letter and a digit.
enum class ZeroWidth : uint8_t { kKept, kOmittedInRuns, kOmitted };

/// Reads a text byte by byte. Arabic-Indic digits, fullwidth digits, letters and signs of
/// addresses, the ideographic space and the minus sign become ASCII. Each byte carries its position
/// in the text, so that no table as long as the text is needed.
class PlainReader {
 public:
  PlainReader(std::string_view text, ZeroWidth zero_width) : text_(text), zero_width_(zero_width) {}

  /// Moves to the next byte, on the first call to the first; returns false after the last.
  bool next();
  char byte() const { return byte_; }
  /// The range of the text that the byte stands for.
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  std::string_view text_;
  ZeroWidth zero_width_;
  size_t begin_ = 0, end_ = 0;
  char byte_ = '\0';
};

/// The whole converted text, or nullopt if it equals `text`. Takes time linear in the text.
std::optional<std::string> plain(std::string_view text, ZeroWidth zero_width);

bool has_zero_width(std::string_view text);

}  // namespace signalbox::pii
