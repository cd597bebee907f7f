#pragma once
// Where a merge can ever join two characters. Byte pair encoding works on a whole word, and for
// some vocabularies (Gemma's, whose words are whole texts) that is very long. But a merge that
// crosses the place between two characters has a left part that ends with the one and a right part
// that begins with the other; where no merge of the vocabulary has such parts, the text may be cut
// first and the pieces encoded apart, with the same result.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/flat.h"

namespace signalbox::tokenizer {

/// Pairs of characters: code points, or bytes in a byte-level vocabulary. Thread-safe once filled.
class Junctions {
 public:
  Junctions();
  void add(char32_t left, char32_t right);

  /// Whether some merge joins `left` to a `right` behind it.
  bool join(char32_t left, char32_t right) const {
    const uint32_t a = narrow(left);
    const uint32_t b = narrow(right);
    if (a < 256 && b < 256) return (arrays_.small[a << 2 | b >> 6] >> (b & 63) & 1) != 0;
    return arrays_.slots[probe(key_of(left, right))] != kFree;
  }

  /// The set as arrays that a file can hold.
  struct Arrays {
    Flat<uint64_t> small;  // (256, 4): a bit for each pair, both narrow
    Flat<uint64_t> slots;  // the other pairs; a power of two, at most half full
  };
  const Arrays& arrays() const { return arrays_; }
  /// Reads arrays() in place. Error: kCorrupt, when they have the wrong sizes.
  static Result<Junctions> of(Arrays arrays);

 private:
  static constexpr uint64_t kFree = UINT64_MAX;

  // The mark that stands for a space is everywhere in a text, so it shares the place of U+0080 in
  // the small table. What is said of one is then said of both, which only cuts less.
  static uint32_t narrow(char32_t c) { return c == 0x2581 ? 0x80 : c; }
  static uint64_t key_of(char32_t left, char32_t right) {
    return static_cast<uint64_t>(left) << 32 | right;
  }
  size_t probe(uint64_t key) const {
    const size_t mask = arrays_.slots.size() - 1;
    size_t slot = (key * 0x9E3779B97F4A7C15 >> 32) & mask;
    while (arrays_.slots[slot] != kFree && arrays_.slots[slot] != key) slot = (slot + 1) & mask;
    return slot;
  }
  void insert(uint64_t key);

  Arrays arrays_;
  size_t size_ = 0;  // of slots, those taken
};

}  // namespace signalbox::tokenizer
