// Pairs of the first 256 code points are stored as bits, the others in a hash table with linear
// probing.

#include "tokenizer/models/junctions.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace signalbox::tokenizer {
namespace {

constexpr size_t kSmallWords = 256 * 4;

}  // namespace

Junctions::Junctions() {
  arrays_.small.own().resize(kSmallWords);
  arrays_.slots.own().resize(1024, kFree);
}

void Junctions::add(char32_t left, char32_t right) {
  const uint32_t a = narrow(left);
  const uint32_t b = narrow(right);
  if (a < 256 && b < 256) {
    arrays_.small.own()[a << 2 | b >> 6] |= uint64_t{1} << (b & 63);
  } else {
    insert(key_of(left, right));
  }
}

void Junctions::insert(uint64_t key) {
  auto& slots = arrays_.slots.own();
  if (2 * (size_ + 1) > slots.size()) {
    const auto old = std::exchange(slots, Flat<uint64_t>::Owned(2 * slots.size(), kFree));
    for (const uint64_t kept : old) {
      if (kept != kFree) slots[probe(kept)] = kept;
    }
  }
  uint64_t& slot = slots[probe(key)];
  if (slot == kFree) ++size_;
  slot = key;
}

Result<Junctions> Junctions::of(Arrays arrays) {
  const auto slots = arrays.slots.span();
  const auto free = std::count(slots.begin(), slots.end(), kFree);
  if (arrays.small.size() != kSmallWords || !std::has_single_bit(slots.size()) || free == 0) {
    return fail(Code::kCorrupt, "junctions: tables of {} words and {} slots, {} free",
                arrays.small.size(), slots.size(), free);
  }
  Junctions out;
  out.size_ = slots.size() - static_cast<size_t>(free);
  out.arrays_ = std::move(arrays);
  return out;
}

}  // namespace signalbox::tokenizer
