// Nodes are placed in the order of the sorted pieces. For a node's children only the last few
// blocks of 256 units are tried. Older blocks are nearly full, and trying all of them would make
// construction quadratic.

#include "tokenizer/models/piece_trie.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <deque>

#include "base/error.h"

namespace signalbox::tokenizer {
namespace {

constexpr uint32_t kBlock = 256;
constexpr size_t kOpenBlocks = 16;

using Labels = std::vector<uint8_t>;

}  // namespace

class PieceTrie::Builder {
 public:
  Builder(PieceTrie& trie, const std::vector<Piece>& pieces) : trie_(trie), pieces_(pieces) {}

  void build() {
    add_block();
    blocks_.back().free.reset(kRoot);
    --blocks_.back().left;
    struct Range {
      uint32_t node;
      size_t begin;  // range of the pieces below the node
      size_t end;
      size_t depth;
    };
    std::vector<Range> open{{kRoot, 0, pieces_.size(), 0}};
    Labels labels;
    while (!open.empty()) {
      Range range = open.back();
      open.pop_back();
      if (range.begin < range.end && pieces_[range.begin].text.size() == range.depth) {
        trie_.units_[range.node].score = pieces_[range.begin].score;
        trie_.ids_[range.node] = pieces_[range.begin].id;
        ++range.begin;
      }
      if (range.begin == range.end) continue;
      labels.clear();
      const auto byte = [&](size_t i) {
        return static_cast<uint8_t>(pieces_[i].text[range.depth]);
      };
      for (size_t i = range.begin; i < range.end; ++i) {
        if (labels.empty() || labels.back() != byte(i)) labels.push_back(byte(i));
      }
      const uint32_t children = place(range.node, labels);
      for (size_t i = range.begin; i < range.end;) {
        const size_t begin = i;
        while (i < range.end && byte(i) == byte(begin)) ++i;
        open.push_back({children ^ byte(begin), begin, i, range.depth + 1});
      }
    }
  }

 private:
  struct Block {
    std::bitset<kBlock> free = std::bitset<kBlock>().set();
    size_t left = kBlock;  // number of free units
  };

  void add_block() {
    trie_.units_.resize(trie_.units_.size() + kBlock);
    trie_.ids_.resize(trie_.units_.size(), -1);
    blocks_.emplace_back();
    if (blocks_.size() > kOpenBlocks) blocks_.pop_front();
  }

  // Finds a position for the children with these labels and occupies the units.
  uint32_t place(uint32_t parent, const Labels& labels) {
    for (size_t block = 0; block < blocks_.size(); ++block) {
      if (blocks_[block].left < labels.size()) continue;
      const std::bitset<kBlock>& free = blocks_[block].free;
      for (size_t i = free._Find_first(); i < kBlock; i = free._Find_next(i)) {
        const auto base = static_cast<uint32_t>(i ^ labels[0]);
        if (fits(free, base, labels)) return take(parent, block, base, labels);
      }
    }
    add_block();
    return take(parent, blocks_.size() - 1, 0, labels);
  }

  static bool fits(const std::bitset<kBlock>& free, uint32_t base, const Labels& labels) {
    return std::all_of(labels.begin(), labels.end(),
                       [&](uint8_t label) { return free[base ^ label]; });
  }

  uint32_t take(uint32_t parent, size_t block, uint32_t base, const Labels& labels) {
    const size_t first = trie_.units_.size() - (blocks_.size() - block) * kBlock;
    const auto children = static_cast<uint32_t>(first + base);
    trie_.units_[parent].children = children;
    for (const uint8_t label : labels) {
      blocks_[block].free.reset(base ^ label);
      trie_.units_[children ^ label].parent = parent;
    }
    blocks_[block].left -= labels.size();
    return children;
  }

  PieceTrie& trie_;
  const std::vector<Piece>& pieces_;  // sorted
  std::deque<Block> blocks_;          // the most recent blocks
};

PieceTrie::PieceTrie(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.text < b.text; });
  Builder(*this, pieces).build();
  SIGNALBOX_CHECK(units_.size() < kNone);
}

}  // namespace signalbox::tokenizer
