// Open addressing with linear probing.

#include "tokenizer/merges.h"

#include <bit>

#include "base/error.h"

namespace signalbox::tokenizer {

void Merges::reserve(size_t merges) {
  SIGNALBOX_CHECK(slots_.size() == 2);  // once, while empty
  slots_.assign(std::bit_ceil(2 * merges + 2), {});
  mask_ = slots_.size() - 1;
  shift_ = 64 - std::countr_zero(slots_.size());
}

void Merges::set(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t slot = slot_of(key);
  while (slots_[slot].key != kFree && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, merge.rank, merge.id};
}

}  // namespace signalbox::tokenizer
