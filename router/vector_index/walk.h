#pragma once
// The state of one walk over a graph: the best slots so far in order, a mark on each that has been
// expanded, and all slots visited. Reused between walks to save allocations.

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "router/vector_index/rows.h"

namespace signalbox::vector_index {

struct Found {
  float cosine;
  Slot slot;
};

inline bool is_nearer(const Found& a, const Found& b) {
  return a.cosine != b.cosine ? a.cosine > b.cosine : a.slot < b.slot;
}

/// A set of slots small enough for the first-level caches, since a walk visits some thousand slots
/// of millions. Open addressing, at most half full.
class SlotSet {
 public:
  void clear() { std::ranges::fill(table_, kNoSlot), used_ = 0; }
  /// Returns true if the slot is new.
  bool insert(Slot slot) {
    Slot& at = *find(slot);
    if (at == slot) return false;
    at = slot;
    if (2 * ++used_ > table_.size()) grow();
    return true;
  }

 private:
  Slot* find(Slot slot) {
    size_t at = (slot * uint64_t{0x9e37'79b9'7f4a'7c15}) >> shift_;
    while (table_[at] != slot && table_[at] != kNoSlot) at = (at + 1) & (table_.size() - 1);
    return &table_[at];
  }
  void grow() {
    std::vector<Slot> old(2 * table_.size(), kNoSlot);
    old.swap(table_);
    --shift_;
    for (const Slot slot : old) {
      if (slot != kNoSlot) *find(slot) = slot;
    }
  }

  std::vector<Slot> table_ = std::vector<Slot>(1 << 12, kNoSlot);
  int shift_ = 64 - 12;
  size_t used_ = 0;
};

/// The best `width` of the offered slots, best first.
class Beam {
 public:
  void clear(size_t width) {
    items_.clear();
    width_ = width;
    next_ = 0;
  }
  /// Marks every slot as not taken, for a search on another level.
  void restart(size_t width) {
    width_ = width;
    if (items_.size() > width) items_.resize(width);
    for (Item& item : items_) item.taken = false;
    next_ = 0;
  }
  void offer(const Found& found) {
    if (items_.size() == width_) {
      if (!is_nearer(found, items_.back().found)) return;
      items_.pop_back();
    }
    const auto at = std::ranges::upper_bound(items_, found, is_nearer, &Item::found);
    next_ = std::min(next_, static_cast<size_t>(at - items_.begin()));
    items_.insert(at, Item{found, false});
  }
  /// Returns the best slot that has not been taken, or kNoSlot.
  Slot take() {
    while (next_ < items_.size() && items_[next_].taken) ++next_;
    if (next_ == items_.size()) return kNoSlot;
    items_[next_].taken = true;
    return items_[next_++].found.slot;
  }
  std::vector<Found> found() const {
    std::vector<Found> out;
    for (const Item& item : items_) out.push_back(item.found);
    return out;
  }
  size_t size() const { return items_.size(); }
  const Found& operator[](size_t i) const { return items_[i].found; }

 private:
  struct Item {
    Found found;
    bool taken;
  };
  std::vector<Item> items_;
  size_t width_ = 0;
  size_t next_ = 0;  // all before it are taken
};

struct Walk {
  Beam beam;
  SlotSet visited;

  /// One for each thread, since concurrent walks must not share state.
  static Walk& of_thread() {
    thread_local Walk walk;
    return walk;
  }
};

}  // namespace signalbox::vector_index
