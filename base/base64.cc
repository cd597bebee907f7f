// Four characters encode three bytes. A short last group is padded with "=".

#include "base/base64.h"

#include <array>
#include <cstdint>

namespace signalbox::base64 {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 0xFF;

using Values = std::array<uint8_t, 256>;

constexpr Values values_of(std::string_view last_two) {
  Values values{};
  for (uint8_t& value : values) value = kNone;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    const char c = i < 62 ? kAlphabet[i] : last_two[i - 62];
    values[static_cast<unsigned char>(c)] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr Values kValues = values_of("+/"), kUrlValues = values_of("-_");

/// Decodes a text without its padding.
Result<std::string> decode_by(const Values& values, std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int held = 0;  // the number of bits not written yet
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t value = values[static_cast<unsigned char>(text[i])];
    if (value == kNone) {
      return fail(Code::kInvalid, "base64: byte 0x{:02X} at offset {}",
                  static_cast<unsigned char>(text[i]), i);
    }
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held & 0xFF));
  }
  if ((bits & ((1u << held) - 1)) != 0) {
    return fail(Code::kInvalid, "base64: bits beyond the last byte at offset {}", text.size() - 1);
  }
  return out;
}

}  // namespace

std::string encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out.push_back(j <= group.size() ? kAlphabet[bits >> (18 - 6 * j) & 0x3F] : '=');
    }
  }
  return out;
}

Result<std::string> decode(std::string_view text) {
  if (text.size() % 4 != 0) {
    return fail(Code::kInvalid, "base64 of {} characters, expected a multiple of 4", text.size());
  }
  size_t size = text.size();  // without padding
  while (size > 0 && text.size() - size < 2 && text[size - 1] == '=') --size;
  return decode_by(kValues, text.substr(0, size));
}

Result<std::string> decode_url(std::string_view text) {
  if (text.size() % 4 == 1)
    return fail(Code::kInvalid, "base64 of {} characters has half a byte too much", text.size());
  return decode_by(kUrlValues, text);
}

}  // namespace signalbox::base64
