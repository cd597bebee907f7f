#pragma once
// Computes how many tokens of a text are kept, and the windows over them, as in the reference.

#include <cstddef>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// Windows of a fixed length over a number of tokens. Each shares `stride` tokens with the previous
/// one. The first begins at the kept side, the last ends at the truncated side.
class Windows {
 public:
  /// Consecutive windows must differ by at least one token, so a larger stride is reduced to the
  /// length minus one. A length of 0 gives a single empty window.
  Windows(size_t tokens, size_t length, size_t stride, TruncationSide side);

  size_t count() const { return count_; }
  /// Returns the i-th window as a range of tokens.
  Span at(size_t i) const;

 private:
  size_t tokens_;
  size_t length_;
  size_t step_;
  size_t count_;
  TruncationSide side_;
};

/// The number of tokens kept of each text of a pair if together they may have `room` tokens.
struct PairLengths {
  size_t first;
  size_t second;
};
PairLengths pair_lengths(size_t first, size_t second, size_t room, TruncationStrategy strategy);

}  // namespace signalbox::tokenizer
