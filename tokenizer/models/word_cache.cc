// The rarely executed part of the cache: a word is stored once and recalled many times.

#include "tokenizer/models/word_cache.h"

#include <algorithm>
#include <atomic>

namespace signalbox::tokenizer {

uint64_t WordCache::next_owner() {
  static std::atomic<uint64_t> last = 0;
  return ++last * 0x9E3779B97F4A7C15;  // an odd factor, so different numbers give different results
}

void WordCache::Place::keep(const std::vector<Token>& tokens, size_t first) const {
  const size_t count = tokens.size() - first;
  if (count == 0 || count > kTokensMax) return;
  entry_.key = key_;
  entry_.word_bytes = static_cast<uint8_t>(word_.size());
  entry_.tokens = static_cast<uint8_t>(count);
  std::copy(word_.begin(), word_.end(), entry_.word.begin());
  for (size_t i = 0; i < count; ++i) {
    const Token& token = tokens[first + i];
    entry_.ids[i] = token.id;
    entry_.bytes[i] = static_cast<uint8_t>(token.span.end - token.span.begin);
  }
}

}  // namespace signalbox::tokenizer
