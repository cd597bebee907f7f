#pragma once
// GPT-2's alphabet: a visible character for each byte, in which byte-level vocabularies are
// written. Printable characters of Latin-1 stand for themselves, the other 68 bytes for U+0100
// onwards in their order; so a space is U+0120.

#include <array>
#include <cstdint>
#include <string>

namespace signalbox::tokenizer {

/// The character of each byte.
inline constexpr std::array<char32_t, 256> kByteAlphabet = [] {
  std::array<char32_t, 256> out{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    out[byte] = visible ? byte : next++;
  }
  return out;
}();

/// The byte that a character stands for, or -1.
int32_t byte_of(char32_t c);

/// The piece that stands for one byte in a vocabulary with byte fallback: "<0x0A>".
std::string fallback_piece(uint32_t byte);

}  // namespace signalbox::tokenizer
