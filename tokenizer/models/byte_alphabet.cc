// The reverse mapping is a table of the alphabet's 324 code points.

#include "tokenizer/models/byte_alphabet.h"

#include <fmt/format.h>

#include <cstddef>

namespace signalbox::tokenizer {
namespace {

constexpr char32_t kAlphabetEnd = 0x100 + 68;

constexpr std::array<int16_t, kAlphabetEnd> kBytes = [] {
  std::array<int16_t, kAlphabetEnd> out{};
  for (auto& byte : out) byte = -1;
  for (int16_t byte = 0; byte < 256; ++byte) out[kByteAlphabet[static_cast<size_t>(byte)]] = byte;
  return out;
}();

}  // namespace

std::string fallback_piece(uint32_t byte) {
  return fmt::format("<0x{:02X}>", byte);
}

int32_t byte_of(char32_t c) {
  return c < kAlphabetEnd ? kBytes[c] : -1;
}

}  // namespace signalbox::tokenizer
