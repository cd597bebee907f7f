// Blocks are touched from the last to the first. A block is then always more recently used than the
// blocks that continue it, and is evicted after them.

#include "router/workers/prefix.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace signalbox::workers {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// 2014): every bit of the result depends on every bit of x.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

// Hashes eight bytes at a time. std::hash was rejected because another standard library may compute
// it differently: all routers in front of the same workers must send a session to the same one.
uint64_t hash_of(std::string_view text, uint64_t seed) {
  uint64_t hash = mix(seed + 0x9E3779B97F4A7C15U) ^ text.size();
  while (!text.empty()) {
    uint64_t word = 0;
    const size_t size = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), size);
    text.remove_prefix(size);
    hash = (hash ^ word) * 0x9FB21C651E98DF25U;
    hash ^= hash >> 32;
  }
  return mix(hash);
}

std::vector<uint64_t> prefix_blocks(std::span<const std::string_view> prompt, size_t block_bytes) {
  size_t size = 0;
  for (const std::string_view part : prompt) size += part.size();
  std::vector<uint64_t> out;
  out.reserve(std::min((size + block_bytes - 1) / block_bytes, kPromptBlocksMax));
  uint64_t hash = 0;
  std::string split;  // a block that spans several parts
  for (size_t i = 0; i < prompt.size(); ++i) {
    std::string_view rest = prompt[i];
    while (!rest.empty() && out.size() < kPromptBlocksMax) {
      const std::string_view bytes = rest.substr(0, block_bytes - split.size());
      rest.remove_prefix(bytes.size());
      const bool whole = split.size() + bytes.size() == block_bytes;
      if (split.empty() && whole) {
        out.push_back(hash = hash_of(bytes, hash));
        continue;
      }
      split.append(bytes);
      if (!whole) continue;
      out.push_back(hash = hash_of(split, hash));
      split.clear();
    }
  }
  if (!split.empty() && out.size() < kPromptBlocksMax) out.push_back(hash_of(split, hash));
  return out;
}

std::vector<uint64_t> prefix_ends(std::span<const std::string_view> prompt, size_t bytes_min) {
  size_t size = 0;
  for (const std::string_view part : prompt) size += part.size();
  std::vector<uint64_t> out;
  if (size < bytes_min) return out;
  uint64_t hash = 0;
  size = 0;
  for (const std::string_view part : prompt) {
    if (part.empty() || out.size() == kPromptEndsMax) continue;
    hash = hash_of(part, hash);
    size += part.size();
    if (size >= bytes_min) out.push_back(hash);
  }
  return out;
}

size_t PrefixCache::known(std::span<const uint64_t> blocks) const {
  const auto end = std::partition_point(blocks.begin(), blocks.end(),
                                        [this](uint64_t block) { return places_.contains(block); });
  return static_cast<size_t>(end - blocks.begin());
}

void PrefixCache::add(std::span<const uint64_t> blocks) {
  blocks = blocks.first(std::min(blocks.size(), capacity_));
  for (size_t i = blocks.size(); i-- > 0;) {
    const auto [place, added] = places_.try_emplace(blocks[i], kNone);
    Index& at = place->second;
    if (!added) {
      unlink(at);
    } else if (slots_.size() < capacity_) {
      at = static_cast<Index>(slots_.size());
      slots_.push_back({blocks[i], kNone, kNone});
    } else {
      at = oldest_;
      unlink(at);
      places_.erase(slots_[at].block);
      slots_[at].block = blocks[i];
    }
    link_newest(at);
  }
}

void PrefixCache::clear() {
  slots_.clear();
  places_.clear();
  newest_ = oldest_ = kNone;
}

void PrefixCache::unlink(Index at) {
  const Slot& slot = slots_[at];
  (slot.newer == kNone ? newest_ : slots_[slot.newer].older) = slot.older;
  (slot.older == kNone ? oldest_ : slots_[slot.older].newer) = slot.newer;
}

void PrefixCache::link_newest(Index at) {
  slots_[at].newer = kNone;
  slots_[at].older = newest_;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = at;
  newest_ = at;
}

}  // namespace signalbox::workers
