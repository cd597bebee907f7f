#pragma once
// How much of a text stays, and the windows over it: the reference's truncation, as numbers of
// tokens.

#include <cstddef>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// Windows of a length over so many tokens; each shares `stride` tokens with the one before. The
/// first begins at the side that is kept, the last ends at the one that is cut.
class Windows {
 public:
  /// Consecutive windows differ by a token at least, so a stride that is too long counts as one
  /// less than the length. A length of 0 is one empty window, which is all that the tokens become.
  Windows(size_t tokens, size_t length, size_t stride, TruncationSide side);

  size_t count() const { return count_; }
  /// The i-th as a range of the tokens.
  Span at(size_t i) const;

 private:
  size_t tokens_;
  size_t length_;
  size_t step_;
  size_t count_;
  TruncationSide side_;
};

/// How many tokens of each text of a pair stay where both have `room` tokens.
struct PairLengths {
  size_t first;
  size_t second;
};
PairLengths pair_lengths(size_t first, size_t second, size_t room, TruncationStrategy strategy);

}  // namespace signalbox::tokenizer
