#pragma once
// Maps pieces of text to ids. It is a flat table, built once, that finds the longest piece at the
// start of a word in time linear in the word. Its hash can remove bytes from the end: the search
// hashes a prefix once, then unwinds it byte by byte with one probe per length. std::unordered_map
// would hash every length from scratch.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/models/flat.h"

namespace signalbox::tokenizer {

/// Thread-safe after filling. At most 4 GiB - 1 bytes of pieces.
class Vocabulary {
 public:
  /// The reader of tokenizer.json rejects longer pieces, which keeps longest() linear.
  static constexpr size_t kPieceBytesMax = 1024;

  struct Entry {
    std::string_view piece;
    int32_t id;
  };
  struct Found {
    int32_t id = -1;      // -1 for none
    uint32_t length = 0;  // in bytes
  };

  Vocabulary() = default;
  /// Copies the pieces, which must be unique.
  explicit Vocabulary(const std::vector<Entry>& entries);

  /// Reserves space for `pieces` more pieces, so that add() does not grow the table gradually.
  void reserve(size_t pieces);
  /// Copies one piece. Returns false without any change if it exists already.
  bool add(std::string_view piece, int32_t id);

  size_t size() const { return arrays_.pieces.size(); }
  /// Returns the i-th added piece.
  Entry entry(size_t i) const;
  /// Returns one more than the largest id; 0 if empty.
  int32_t ids_end() const { return ids_end_; }

  /// Returns the id of a piece, or -1.
  int32_t find(std::string_view piece) const;

  /// Looks up many pieces: ids[i] is the id of wanted[i], or -1. The tables exceed the caches, so
  /// single lookups each wait for memory; here the waits overlap.
  void find_all(std::span<const std::string_view> wanted, std::span<int32_t> ids) const;

  /// Returns the longest piece of at least one byte that is a prefix of the UTF-8 text and ends at
  /// a code point boundary.
  Found longest(std::string_view text) const;

  /// The table as arrays for storage in a file.
  struct Slot {
    uint32_t tag = 0;    // more hash bits, so that few probes compare text
    uint32_t piece = 0;  // index into `pieces` plus 1; 0: free
  };
  struct Piece {
    uint32_t begin;
    uint32_t length;
    int32_t id;
  };
  struct Arrays {
    Flat<char> text;  // concatenated text of all pieces
    Flat<Piece> pieces;
    Flat<Slot> slots;  // size is a power of two, at most half full
  };
  const Arrays& arrays() const { return arrays_; }
  /// Uses arrays() in place. Error: kCorrupt if an index in them is out of range.
  static Result<Vocabulary> of(Arrays arrays, int64_t id_max);

 private:
  size_t probe(uint64_t hash, std::string_view text) const;
  void rehash(size_t slots);
  std::string_view text_of(const Piece& piece) const {
    return {arrays_.text.data() + piece.begin, piece.length};
  }

  Arrays arrays_;
  int shift_ = 63;  // converts a hash to an index into slots
  size_t length_max_ = 0;
  int32_t ids_end_ = 0;
};

}  // namespace signalbox::tokenizer
