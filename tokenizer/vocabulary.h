#pragma once
// Pieces of text to ids: a flat table, built once, that finds the longest piece at the head of a
// word in time linear in the word. Its hash can take bytes back off the end, so the search hashes a
// head once and then unwinds it byte by byte, with one probe a length, where std::unordered_map
// would hash every length anew.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/flat.h"

namespace signalbox::tokenizer {

/// Thread-safe once filled. At most 4 GiB - 1 bytes of pieces.
class Vocabulary {
 public:
  /// A longer piece than this is refused by the reader of tokenizer.json, which keeps longest()
  /// linear.
  static constexpr size_t kPieceBytesMax = 1024;

  struct Entry {
    std::string_view piece;
    int32_t id;
  };
  struct Found {
    int32_t id = -1;      // -1: none
    uint32_t length = 0;  // in bytes
  };

  Vocabulary() = default;
  /// Copies the pieces, which must differ from each other.
  explicit Vocabulary(const std::vector<Entry>& entries);

  /// Makes room for so many pieces more, so that add() does not grow the table piece by piece.
  void reserve(size_t pieces);
  /// Copies one piece. False, and nothing changes, when it is there already.
  bool add(std::string_view piece, int32_t id);

  size_t size() const { return arrays_.pieces.size(); }
  /// The i-th that was added.
  Entry entry(size_t i) const;
  /// One more than the largest id; 0 when empty.
  int32_t ids_end() const { return ids_end_; }

  /// The id of a piece, or -1.
  int32_t find(std::string_view piece) const;

  /// The ids of many pieces: ids[i] of wanted[i], -1 where there is none. Tables are larger than
  /// caches, so looking up one by one waits for memory each time; here the waits overlap.
  void find_all(std::span<const std::string_view> wanted, std::span<int32_t> ids) const;

  /// The longest piece of at least one byte that the UTF-8 text begins with and that ends between
  /// code points.
  Found longest(std::string_view text) const;

  /// The table as arrays that a file can hold.
  struct Slot {
    uint32_t tag = 0;    // more bits of the hash, so that few probes look at text
    uint32_t piece = 0;  // index into `pieces` plus 1; 0: free
  };
  struct Piece {
    uint32_t begin;
    uint32_t length;
    int32_t id;
  };
  struct Arrays {
    Flat<char> text;  // of all pieces
    Flat<Piece> pieces;
    Flat<Slot> slots;  // a power of two, at most half full
  };
  const Arrays& arrays() const { return arrays_; }
  /// Reads arrays() in place. Error: kCorrupt, when an index in them is out of range.
  static Result<Vocabulary> of(Arrays arrays, int64_t id_max);

 private:
  size_t probe(uint64_t hash, std::string_view text) const;
  void rehash(size_t slots);
  std::string_view text_of(const Piece& piece) const {
    return {arrays_.text.data() + piece.begin, piece.length};
  }

  Arrays arrays_;
  int shift_ = 63;  // of a hash, to an index into slots
  size_t length_max_ = 0;
  int32_t ids_end_ = 0;
};

}  // namespace signalbox::tokenizer
