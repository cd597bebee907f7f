#pragma once
// Pieces with scores in a double-array trie (Aoe, An efficient digital search algorithm by using a
// double-array structure, 1989). One pass along a text finds all pieces that are prefixes of it,
// with one load per byte: a unit contains the node, the check that it is a child of the previous
// node, and the score.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace signalbox::tokenizer {

/// Immutable after construction; thread-safe.
class PieceTrie {
 public:
  struct Piece {
    std::string_view text;  // not empty
    double score;
    int32_t id;
  };
  /// The texts must be unique. They are copied into the trie.
  explicit PieceTrie(std::vector<Piece> pieces);

  /// Calls found(bytes, score, node) for each piece that is a prefix of `text`, shortest first.
  template <class Found>
  void for_each_prefix(std::string_view text, const Found& found) const {
    uint32_t node = kRoot;
    for (uint32_t i = 0; i < text.size(); ++i) {
      const uint32_t next = units_[node].children ^ static_cast<unsigned char>(text[i]);
      if (units_[next].parent != node) return;
      node = next;
      if (!std::isnan(units_[node].score)) found(i + 1, units_[node].score, node);
    }
  }

  int32_t id(uint32_t node) const { return ids_[node]; }

 private:
  class Builder;
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr double kNoPiece = std::numeric_limits<double>::quiet_NaN();

  struct Unit {
    double score = kNoPiece;  // of the piece that ends here
    uint32_t children = 0;    // the child for byte b is at children ^ b
    uint32_t parent = kNone;  // kNone: free, or the root
  };
  std::vector<Unit> units_;   // a multiple of 256 units, so that `children ^ b` is always valid
  std::vector<int32_t> ids_;  // (units_.size())
};

}  // namespace signalbox::tokenizer
