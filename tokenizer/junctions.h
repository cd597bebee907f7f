#pragma once
// Where a merge can ever join two characters. Byte pair encoding works on a whole word, and for
// some vocabularies (Gemma's, whose words are whole texts) that is very long. But a merge that
// crosses the place between two characters has a left part that ends with the one and a right part
// that begins with the other; where no merge of the vocabulary has such parts, the text may be cut
// first and the pieces encoded apart, with the same result.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace signalbox::tokenizer {

/// Pairs of characters: code points, or bytes in a byte-level vocabulary. Thread-safe once filled.
class Junctions {
 public:
  void add(char32_t left, char32_t right);

  /// Whether some merge joins `left` to a `right` behind it.
  bool join(char32_t left, char32_t right) const {
    const uint32_t a = narrow(left);
    const uint32_t b = narrow(right);
    if (a < 256 && b < 256) return small_[a << 8 | b];
    return !slots_.empty() && find(key_of(left, right));
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;

  // The mark that stands for a space is everywhere in a text, so it shares the place of U+0080 in
  // the small table. What is said of one is then said of both, which only cuts less.
  static uint32_t narrow(char32_t c) { return c == 0x2581 ? 0x80 : c; }
  static uint64_t key_of(char32_t left, char32_t right) {
    return static_cast<uint64_t>(left) << 32 | right;
  }
  bool find(uint64_t key) const;
  void insert(uint64_t key);

  std::bitset<65536> small_;     // by left and right, both narrow
  std::vector<uint64_t> slots_;  // the others; a power of two, at most half full
  size_t size_ = 0;
};

}  // namespace signalbox::tokenizer
