// Decodes by the table of well-formed sequences (Unicode 15, table 3-7).

#include "base/utf8.h"

namespace signalbox::utf8 {
namespace {

struct Lead {
  uint32_t length;    // of the whole sequence; 0 if this byte cannot start one
  unsigned char low;  // bounds of the second byte
  unsigned char high;
};

Lead lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Decoded decode(std::string_view text, size_t position) {
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte_at(position);
  if (first < 0x80) return {first, 1};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {kReplacement, 1};
  char32_t code_point = first & (0x7Fu >> lead.length);
  for (uint32_t i = 1; i < lead.length; ++i) {
    if (position + i >= text.size()) return {kReplacement, i};
    const unsigned char byte = byte_at(position + i);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {kReplacement, i};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {code_point, lead.length};
}

void append(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    code_point = kReplacement;
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

size_t count(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); i += decode(text, i).bytes) ++n;
  return n;
}

bool is_valid(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Decoded decoded = decode(text, i);
    // A genuine U+FFFD is encoded in its own three bytes. Anything else that decodes to it is an
    // error.
    if (decoded.code_point == kReplacement && text.substr(i, decoded.bytes) != "\xEF\xBF\xBD")
      return false;
    i += decoded.bytes;
  }
  return true;
}

}  // namespace signalbox::utf8
