#pragma once
// Records which pairs of adjacent characters any merge can join. Byte pair encoding processes whole
// words, and for some vocabularies (such as Gemma's, where a word is a whole text) words are very
// long. A merge that spans the boundary between two characters has a left part that ends with the
// first and a right part that begins with the second. If no merge in the vocabulary has such parts,
// the text can be split at the boundary and the pieces encoded separately with the same result.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/models/flat.h"

namespace signalbox::tokenizer {

/// Pairs of characters: code points, or bytes in a byte-level vocabulary. Thread-safe after
/// filling.
class Junctions {
 public:
  Junctions();
  void add(char32_t left, char32_t right);

  /// Returns true if some merge joins `left` to a `right` that follows it.
  bool join(char32_t left, char32_t right) const {
    const uint32_t a = narrow(left);
    const uint32_t b = narrow(right);
    if (a < 256 && b < 256) return (arrays_.small[a << 2 | b >> 6] >> (b & 63) & 1) != 0;
    return arrays_.slots[probe(key_of(left, right))] != kFree;
  }

  /// The set as arrays for storage in a file.
  struct Arrays {
    Flat<uint64_t> small;  // (256, 4): one bit per pair of narrow characters
    Flat<uint64_t> slots;  // the other pairs; size is a power of two, at most half full
  };
  const Arrays& arrays() const { return arrays_; }
  /// Uses arrays() in place. Error: kCorrupt if the sizes are wrong.
  static Result<Junctions> of(Arrays arrays);

 private:
  static constexpr uint64_t kFree = UINT64_MAX;

  // The space mark U+2581 is very frequent, so it shares the table position of U+0080. An entry for
  // one then applies to both, which only means fewer splits.
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
  size_t size_ = 0;  // number of used slots
};

}  // namespace signalbox::tokenizer
