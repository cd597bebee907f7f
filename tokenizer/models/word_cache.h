#pragma once
// Caches words and their tokens, because most words of a text occurred before. Each thread has one
// cache of fixed size. A word's hash determines its single position; a newer word replaces an older
// one.

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
  static constexpr size_t kWordBytesMax = 22;  // covers 97 % of the words of English prose,
                                               // including the space
  static constexpr size_t kTokensMax = 6;

  /// The position of one word. Valid until the next call.
  class Place;

  /// `owner` identifies the tokenizer; see next_owner(). Requires word.size() <= kWordBytesMax.
  Place place(uint64_t owner, std::string_view word);

  /// Returns a unique number for each tokenizer that stores words here.
  static uint64_t next_owner();

 private:
  // Exactly one cache line.
  struct Entry {
    uint64_t key;
    uint8_t word_bytes;
    uint8_t tokens;  // 0: free
    std::array<char, kWordBytesMax> word;
    std::array<int32_t, kTokensMax> ids;
    std::array<uint8_t, kTokensMax> bytes;  // length of each token
  };
  static constexpr size_t kEntries = 8192;  // 512 KB: fits the second-level cache of server
                                            // processors

  std::vector<Entry> entries_;  // allocated on first use
};

class WordCache::Place {
 public:
  /// Appends the tokens of the word that begins at `begin`. Returns false if the word is not
  /// cached.
  bool recall(uint32_t begin, std::vector<Token>& tokens) const;
  /// Caches tokens[first..], which must be the word's tokens, in order and without gaps. Does
  /// nothing if there are too many.
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
  // Different owners produce different keys for one word, so equal keys and equal words identify an
  // entry.
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
