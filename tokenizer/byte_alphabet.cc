// The way back.

#include "tokenizer/byte_alphabet.h"

#include <algorithm>

namespace signalbox::tokenizer {

int32_t byte_of(char32_t c) {
  const auto found = std::find(kByteAlphabet.begin(), kByteAlphabet.end(), c);
  return found == kByteAlphabet.end() ? -1 : static_cast<int32_t>(found - kByteAlphabet.begin());
}

}  // namespace signalbox::tokenizer
