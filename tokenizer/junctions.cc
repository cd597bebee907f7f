// Pairs of the first 256 code points are bits, the others a hash table with linear probing.

#include "tokenizer/junctions.h"

namespace signalbox::tokenizer {
namespace {

size_t hash_of(uint64_t key) {
  return static_cast<size_t>(key * 0x9E3779B97F4A7C15 >> 32);
}

}  // namespace

void Junctions::add(char32_t left, char32_t right) {
  const uint32_t a = narrow(left);
  const uint32_t b = narrow(right);
  if (a < 256 && b < 256) {
    small_.set(a << 8 | b);
  } else {
    insert(key_of(left, right));
  }
}

void Junctions::insert(uint64_t key) {
  if (2 * (size_ + 1) > slots_.size()) {
    const std::vector<uint64_t> old = std::move(slots_);
    slots_.assign(old.empty() ? 1024 : 2 * old.size(), kFree);
    size_ = 0;
    for (const uint64_t kept : old) {
      if (kept != kFree) insert(kept);
    }
  }
  size_t slot = hash_of(key) & (slots_.size() - 1);
  while (slots_[slot] != kFree && slots_[slot] != key) slot = (slot + 1) & (slots_.size() - 1);
  if (slots_[slot] == key) return;
  slots_[slot] = key;
  ++size_;
}

bool Junctions::find(uint64_t key) const {
  for (size_t slot = hash_of(key) & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == key) return true;
    if (slots_[slot] == kFree) return false;
  }
}

}  // namespace signalbox::tokenizer
