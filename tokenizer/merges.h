#pragma once
// The merges of byte pair encoding: which two tokens become one, and in what order.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace signalbox::tokenizer {

/// Thread-safe once filled.
class Merges {
 public:
  struct Merge {
    uint32_t rank;  // the lowest is done first
    int32_t id;     // of the token that the two become
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Makes room for so many merges.
  void reserve(size_t merges);
  /// A pair that is there already takes the new rank and id. Precondition: reserved.
  void set(int32_t left, int32_t right, Merge merge);

  /// The merge of two neighbours; its rank is kNone when there is none.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      const Slot& found = slots_[slot];
      if (found.key == key) return {found.rank, found.id};
      if (found.key == kFree) return {kNone, -1};
    }
  }

 private:
  struct Slot {
    uint64_t key = kFree;
    uint32_t rank = kNone;
    int32_t id = -1;
  };
  static constexpr uint64_t kFree = UINT64_MAX;  // ids are below 2^31

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key ^ key >> 23) * 0x9E3779B97F4A7C15 >> shift_);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);  // a power of two, at most half full
  size_t mask_ = 1;
  int shift_ = 63;
};

}  // namespace signalbox::tokenizer
