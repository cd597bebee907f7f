// A hash table with open addressing and linear probing.

#include "tokenizer/models/merges.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace signalbox::tokenizer {

Merges::Merges(std::span<const Rule> rules)
    : Merges(Flat<Slot>(Flat<Slot>::Owned(std::bit_ceil(rules.size() + rules.size() / 3 + 2)))) {
  constexpr size_t kAhead = 16;  // prefetch distance in slots, because the table is not in cache
  Slot* slots = slots_.own().data();
  for (size_t rank = 0; rank < rules.size(); ++rank) {
    const Rule& later = rules[std::min(rank + kAhead, rules.size() - 1)];
    __builtin_prefetch(&slots[slot_of(key_of(later.left, later.right))], 1);
    const uint64_t key = key_of(rules[rank].left, rules[rank].right);
    slots[probe(key)] = {key, {static_cast<uint32_t>(rank), rules[rank].id}};
  }
}

Merges::Merges(Flat<Slot> slots)
    : slots_(std::move(slots)),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())) {}

Result<Merges> Merges::of(std::span<const Slot> slots, int32_t ids_end) {
  size_t taken = 0;
  for (const Slot& slot : slots) {
    if (slot.key == kFree && slot.merge.rank == kNone) continue;
    ++taken;
    if (slot.merge.id < 0 || slot.merge.id >= ids_end) {
      return fail(Code::kCorrupt, "merges: the id {} of {}", slot.merge.id, ids_end);
    }
  }
  if (!std::has_single_bit(slots.size()) || slots.size() < 2 || taken == slots.size()) {
    return fail(Code::kCorrupt, "merges: a table of {} slots, {} taken", slots.size(), taken);
  }
  return Merges(Flat<Slot>(slots));
}

}  // namespace signalbox::tokenizer
