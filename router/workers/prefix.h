#pragma once
// Remembers which prompt beginnings a worker has seen, and therefore probably still has in its
// cache. A prompt is cut into blocks of bytes, and each block is identified by a hash of everything
// up to its end. A table of such hashes is a radix tree without edges: if a block is in the table,
// all blocks before it are too.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace signalbox::workers {

/// The most blocks of a prompt that are compared; the rest of the prompt is ignored.
inline constexpr size_t kPromptBlocksMax = 4096;

/// The most parts of a prompt whose ends are compared.
inline constexpr size_t kPromptEndsMax = 256;

/// Returns the hash of the prompt up to the end of each block of `block_bytes` > 0. The parts of
/// the prompt count as one text. The last block may be short. At most kPromptBlocksMax hashes.
std::vector<uint64_t> prefix_blocks(std::span<const std::string_view> prompt, size_t block_bytes);

/// Returns the hash of the prompt up to the end of each part, for the parts by whose end the prompt
/// has at least `bytes_min` bytes. A prompt that continues differently can share these beginnings.
/// At most kPromptEndsMax hashes.
std::vector<uint64_t> prefix_ends(std::span<const std::string_view> prompt, size_t bytes_min);

/// Hashes a text; each `seed` gives a different hash.
uint64_t hash_of(std::string_view text, uint64_t seed);

/// Holds at most `capacity` > 0 blocks and evicts the least recently used ones, within a prompt the
/// last one first. So if a block is in the cache, all blocks before it are too. Not thread-safe.
class PrefixCache {
 public:
  explicit PrefixCache(size_t capacity) : capacity_(capacity) {}

  /// Returns how many of the blocks, counted from the first, are in the cache. Logarithmic in their
  /// number.
  size_t known(std::span<const uint64_t> blocks) const;
  /// Adds the blocks, or marks them as most recently used.
  void add(std::span<const uint64_t> blocks);
  void clear();
  size_t size() const { return slots_.size(); }

 private:
  using Index = uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  struct Slot {
    uint64_t block;
    Index newer, older;
  };
  void unlink(Index at);
  void link_newest(Index at);

  size_t capacity_;
  std::vector<Slot> slots_;  // a list linked by use, stored in no order
  std::unordered_map<uint64_t, Index> places_;
  Index newest_ = kNone;
  Index oldest_ = kNone;
};

}  // namespace signalbox::workers
