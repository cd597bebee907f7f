#pragma once
// Words that were seen and their tokens: most words of a text are words of the text before. One to
// a thread, of a fixed size, each word in the one place that its hash gives; a newer word takes the
// place of an older one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

class WordCache {
 public:
  static constexpr size_t kWordBytesMax = 22;  // 97 % of the words of English prose, space included
  static constexpr size_t kTokensMax = 6;

  /// One word's place. Valid until the next call.
  class Place;

  /// `owner` tells the words of one tokenizer from another's; see next_owner(). Precondition:
  /// word.size() <= kWordBytesMax.
  Place place(uint64_t owner, std::string_view word);

  /// A number for each tokenizer that keeps words here; never the same twice.
  static uint64_t next_owner();

 private:
  // One cache line.
  struct Entry {
    uint64_t key;
    uint8_t word_bytes;
    uint8_t tokens;  // 0: free
    std::array<char, kWordBytesMax> word;
    std::array<int32_t, kTokensMax> ids;
    std::array<uint8_t, kTokensMax> bytes;  // of each token
  };
  static constexpr size_t kEntries = 8192;  // 512 KB: within the second cache of server processors

  std::vector<Entry> entries_;  // made at first use
};

class WordCache::Place {
 public:
  /// Appends the tokens of the word, which begins at `begin`. False when the word is not kept.
  bool recall(uint32_t begin, std::vector<Token>& tokens) const;
  /// Keeps tokens[first..], which must be those of the word, in order and without gaps, unless they
  /// are too many.
  void keep(const std::vector<Token>& tokens, size_t first) const;

 private:
  friend class WordCache;
  Place(Entry& entry, uint64_t key, std::string_view word)
      : entry_(entry), key_(key), word_(word) {}

  Entry& entry_;
  uint64_t key_;
  std::string_view word_;
};

inline WordCache::Place WordCache::place(uint64_t owner, std::string_view word) {
  if (entries_.empty()) entries_.resize(kEntries);
  uint64_t parts[3] = {};
  static_assert(sizeof(parts) >= kWordBytesMax);
  std::memcpy(parts, word.data(), word.size());
  // Distinct owners give distinct keys to one word, so equal keys and equal words are one entry.
  uint64_t key = parts[0] * 0x9E3779B97F4A7C15 ^ word.size();
  key = (key ^ key >> 32 ^ parts[1]) * 0xD6E8FEB86659FD93;
  key = (key ^ key >> 32 ^ parts[2]) * 0xD6E8FEB86659FD93;
  key ^= owner;
  key ^= key >> 29;
  return Place(entries_[key % kEntries], key, word);
}

inline bool WordCache::Place::recall(uint32_t begin, std::vector<Token>& tokens) const {
  if (entry_.key != key_ || entry_.tokens == 0 || entry_.word_bytes != word_.size() ||
      std::memcmp(entry_.word.data(), word_.data(), word_.size()) != 0) {
    return false;
  }
  for (size_t i = 0; i < entry_.tokens; ++i) {
    const uint32_t end = begin + entry_.bytes[i];
    tokens.push_back({entry_.ids[i], {begin, end}});
    begin = end;
  }
  return true;
}

}  // namespace signalbox::tokenizer
