#pragma once
// The merges of byte pair encoding: the pairs of tokens that can merge, and their order.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/models/flat.h"

namespace signalbox::tokenizer {

/// Thread-safe after filling.
class Merges {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Merge {
    uint32_t rank = kNone;  // the lowest rank is merged first
    int32_t id = -1;        // of the resulting token
  };

  struct Rule {
    int32_t left;
    int32_t right;
    int32_t id;  // of the resulting token
  };

  /// Rules are in order of rank. For duplicate pairs the last rule applies.
  explicit Merges(std::span<const Rule> rules);

  /// Returns the merge of two adjacent tokens; its rank is kNone if there is none.
  Merge find(int32_t left, int32_t right) const { return slots_[probe(key_of(left, right))].merge; }

  /// The table as an array for storage in a file.
  struct Slot {
    uint64_t key = kFree;  // left id and right id
    Merge merge;           // default in a free slot
  };
  std::span<const Slot> slots() const { return slots_.span(); }
  /// Uses slots() in place. Error: kCorrupt if an id is not below `ids_end`.
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

  Flat<Slot> slots_;  // size is a power of two, at most three quarters full
  size_t mask_;
  int shift_;  // converts a hash to an index into slots_
};

}  // namespace signalbox::tokenizer
