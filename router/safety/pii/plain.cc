// Converts only the characters that numbers and addresses consist of. Fullwidth commas, colons and
// brackets belong to the sentence and end what precedes them.

#include "router/safety/pii/plain.h"

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

uint8_t byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
}

// The ASCII character that a sign of two or three bytes stands for; 0 if it stands for itself.
char ascii_of(std::string_view text, size_t at) {
  const uint8_t second = byte_at(text, at + 1), third = byte_at(text, at + 2);
  switch (byte_at(text, at)) {
    case 0xD9:  // Arabic-Indic digits
      return second >= 0xA0 && second <= 0xA9 ? static_cast<char>('0' + second - 0xA0) : 0;
    case 0xDB:  // the eastern ones
      return second >= 0xB0 && second <= 0xB9 ? static_cast<char>('0' + second - 0xB0) : 0;
    case 0xEF:  // U+FF01 and U+FF41 stand for 0x21 and 0x61
      if (second == 0xBC && third >= 0x81 && third <= 0xBF) {
        const char sign = static_cast<char>(third - 0x60);
        return is_alnum(sign) || sign == '+' || sign == '-' || sign == '.' || sign == '@' ? sign
                                                                                          : 0;
      }
      return second == 0xBD && third >= 0x81 && third <= 0x9A ? static_cast<char>(third - 0x20) : 0;
    case 0xE3:
      return second == 0x80 && third == 0x80 ? ' ' : 0;  // U+3000
    case 0xE2:
      return second == 0x88 && third == 0x92 ? '-' : 0;  // U+2212
    default:
      return 0;
  }
}

// The length of a zero-width character: a soft hyphen, U+200B to U+200F, U+2060 to U+2064, U+FEFF.
size_t zero_width_bytes(std::string_view text, size_t at) {
  const uint8_t second = byte_at(text, at + 1), third = byte_at(text, at + 2);
  switch (byte_at(text, at)) {
    case 0xC2:
      return second == 0xAD ? 2 : 0;
    case 0xE2:
      return (second == 0x80 && third >= 0x8B && third <= 0x8F) ||
                     (second == 0x81 && third >= 0xA0 && third <= 0xA4)
                 ? 3
                 : 0;
    case 0xEF:
      return second == 0xBB && third == 0xBF ? 3 : 0;
    default:
      return 0;
  }
}

size_t zero_width_end(std::string_view text, size_t at) {
  while (const size_t bytes = zero_width_bytes(text, at)) at += bytes;
  return at;
}

bool separates(char before, char after) {
  return (is_digit(before) && is_alpha(after)) || (is_alpha(before) && is_digit(after));
}

}  // namespace

bool PlainReader::next() {
  begin_ = end_;
  const size_t omitted_end =
      zero_width_ == ZeroWidth::kKept ? begin_ : zero_width_end(text_, begin_);
  const bool is_kept = zero_width_ == ZeroWidth::kOmittedInRuns && omitted_end < text_.size() &&
                       separates(byte_, text_[omitted_end]);
  if (!is_kept) begin_ = omitted_end;
  if (begin_ >= text_.size()) return false;
  const char sign = ascii_of(text_, begin_);
  byte_ = sign != 0 ? sign : text_[begin_];
  const size_t sign_bytes = byte_at(text_, begin_) >= 0xE0 ? 3 : 2;
  end_ = begin_ + (sign != 0 ? sign_bytes : 1);
  return true;
}

std::optional<std::string> plain(std::string_view text, ZeroWidth zero_width) {
  size_t size = 0;
  for (PlainReader reader(text, zero_width); reader.next();) ++size;
  if (size == text.size()) return std::nullopt;  // every conversion makes the text shorter
  std::string out;
  out.reserve(size);
  for (PlainReader reader(text, zero_width); reader.next();) out.push_back(reader.byte());
  return out;
}

bool has_zero_width(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (zero_width_bytes(text, at) != 0) return true;
  }
  return false;
}

}  // namespace signalbox::pii
