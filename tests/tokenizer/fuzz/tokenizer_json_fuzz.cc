// Reads any bytes as a tokenizer.json. The result is an error or a working tokenizer.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::tokenizer;
  const auto tokenizer = Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!tokenizer) return 0;
  Encoding encoding;
  (*tokenizer)->encode("A [MASK]  caf\xC3\xA9 \xFF <x>ab", {}, encoding);
  (*tokenizer)->encode_pair("ab ab", "b", {.special_tokens = true, .tokens_max = 3}, encoding);
  return 0;
}
