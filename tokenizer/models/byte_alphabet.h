#pragma once
// GPT-2's alphabet, which byte-level vocabularies use: a visible character for each byte. Printable
// Latin-1 characters represent themselves. The other 68 bytes map to U+0100 and up, in order; a
// space is U+0120.

#include <array>
#include <cstdint>
#include <string>

namespace signalbox::tokenizer {

/// Maps each byte to its character.
inline constexpr std::array<char32_t, 256> kByteAlphabet = [] {
  std::array<char32_t, 256> out{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    out[byte] = visible ? byte : next++;
  }
  return out;
}();

/// Returns the byte for a character, or -1.
int32_t byte_of(char32_t c);

/// Returns the piece for one byte in a vocabulary with byte fallback: "<0x0A>".
std::string fallback_piece(uint32_t byte);

}  // namespace signalbox::tokenizer
