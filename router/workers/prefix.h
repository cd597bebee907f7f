#pragma once
// Which beginnings of prompts a worker has seen, and so probably still has in its cache: a prompt
// is cut into blocks of bytes, and each block is known by a hash of everything up to its end. A
// table of such hashes is a radix tree without its edges: that a block is there says that all
// before it are.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace signalbox::workers {

/// Blocks of a prompt that are told apart; what follows is not compared.
inline constexpr size_t kPromptBlocksMax = 4096;

/// The same for ends of its parts.
inline constexpr size_t kPromptEndsMax = 256;

/// The hash of the prompt up to the end of each block of `block_bytes` > 0; the parts of the prompt
/// count as one text. The last block may be short. At most kPromptBlocksMax.
std::vector<uint64_t> prefix_blocks(std::span<const std::string_view> prompt, size_t block_bytes);

/// The hash of the prompt up to the end of each part from which on it has at least `bytes_min`
/// bytes: what a prompt of other parts can begin with. At most kPromptEndsMax.
std::vector<uint64_t> prefix_ends(std::span<const std::string_view> prompt, size_t bytes_min);

/// A hash of a text, different for each `seed`.
uint64_t hash_of(std::string_view text, uint64_t seed);

/// At most `capacity` > 0 blocks; the ones used longest ago make room, of one prompt the last
/// first, so that what is there always has all before it. Not thread-safe.
class PrefixCache {
 public:
  explicit PrefixCache(size_t capacity) : capacity_(capacity) {}

  /// How many of the blocks, from the first on, are there. Logarithmic in their number.
  size_t known(std::span<const uint64_t> blocks) const;
  /// They are there from now on, and used last.
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
  std::vector<Slot> slots_;  // a ring of neighbours in use, in no order
  std::unordered_map<uint64_t, Index> places_;
  Index newest_ = kNone;
  Index oldest_ = kNone;
};

}  // namespace signalbox::workers
