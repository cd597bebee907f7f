#pragma once
// The merges of byte pair encoding: which two tokens become one, and in what order.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/flat.h"

namespace signalbox::tokenizer {

/// Thread-safe once filled.
class Merges {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Merge {
    uint32_t rank = kNone;  // the lowest is done first
    int32_t id = -1;        // of the token that the two become
  };

  struct Rule {
    int32_t left;
    int32_t right;
    int32_t id;  // of the token that the two become
  };

  /// In order of rank. Of rules for the same pair the last holds.
  explicit Merges(std::span<const Rule> rules);

  /// The merge of two neighbours; its rank is kNone when there is none.
  Merge find(int32_t left, int32_t right) const { return slots_[probe(key_of(left, right))].merge; }

  /// The table as an array that a file can hold.
  struct Slot {
    uint64_t key = kFree;  // left id, right id
    Merge merge;           // none in a free slot
  };
  std::span<const Slot> slots() const { return slots_.span(); }
  /// Reads slots() in place. Error: kCorrupt, when an id is not below `ids_end`.
  static Result<Merges> of(std::span<const Slot> slots, int32_t ids_end);

 private:
  static constexpr uint64_t kFree = UINT64_MAX;  // ids are below 2^31

  explicit Merges(Flat<Slot> slots);
  size_t probe(uint64_t key) const {
    const Slot* slots = slots_.data();
    size_t slot = slot_of(key);
    while (slots[slot].key != kFree && slots[slot].key != key) slot = (slot + 1) & mask_;
    return slot;
  }
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key ^ key >> 23) * 0x9E3779B97F4A7C15 >> shift_);
  }

  Flat<Slot> slots_;  // a power of two, at most three quarters full
  size_t mask_;
  int shift_;  // of a hash, to an index into slots_
};

}  // namespace signalbox::tokenizer
