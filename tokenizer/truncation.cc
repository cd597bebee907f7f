// If the selected text is too short to truncate, the reference raises an error. Here that text
// becomes empty and the other one is truncated too.

#include "tokenizer/truncation.h"

#include <algorithm>

namespace signalbox::tokenizer {

Windows::Windows(size_t tokens, size_t length, size_t stride, TruncationSide side)
    : tokens_(tokens),
      length_(std::min(tokens, length)),
      step_(length_ == 0 ? 0 : length_ - std::min(stride, length_ - 1)),
      count_(step_ == 0 ? 1 : 1 + (tokens_ - length_ + step_ - 1) / step_),
      side_(side) {}

Span Windows::at(size_t i) const {
  const size_t begin = i * step_;
  const size_t end = std::min(begin + length_, tokens_);
  if (side_ == TruncationSide::kRight) {
    return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  return {static_cast<uint32_t>(tokens_ - end), static_cast<uint32_t>(tokens_ - begin)};
}

PairLengths pair_lengths(size_t first, size_t second, size_t room, TruncationStrategy strategy) {
  if (first + second <= room) return {first, second};
  if (strategy == TruncationStrategy::kLongestFirst) {
    // The shorter text keeps up to half of the room and the longer gets the rest. For equal lengths
    // the second counts as the longer.
    const size_t shorter = std::min({first, second, room / 2});
    return first > second ? PairLengths{room - shorter, shorter}
                          : PairLengths{shorter, room - shorter};
  }
  const bool cuts_first = strategy == TruncationStrategy::kOnlyFirst;
  const size_t kept = std::min(cuts_first ? second : first, room);
  return cuts_first ? PairLengths{room - kept, kept} : PairLengths{kept, room - kept};
}

}  // namespace signalbox::tokenizer
