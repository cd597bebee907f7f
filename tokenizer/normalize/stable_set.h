#pragma once
// The code points that a normalizer leaves unchanged, for fast scanning. It has one bit per code
// point for the two planes that contain nearly all text.

#include <bitset>
#include <string_view>

#include "base/utf8.h"

namespace signalbox::tokenizer {

class StableSet {
 public:
  static constexpr size_t kSize = 0x20000;

  /// Contains the code points up to U+1FFFF for which holds(code_point) is true.
  template <class Predicate>
  explicit StableSet(const Predicate& holds) {
    for (char32_t c = 0; c < bits_.size(); ++c) bits_[c] = holds(c);
  }

  bool has(char32_t c) const { return c < bits_.size() && bits_[c]; }

  /// Returns the position of the first code point at or after `from` that is not in the set, or the
  /// end.
  size_t find_other(std::string_view text, size_t from) const {
    while (from < text.size()) {
      const auto byte = static_cast<unsigned char>(text[from]);
      const utf8::Decoded decoded = byte < 0x80 ? utf8::Decoded{byte, 1} : utf8::decode(text, from);
      if (!has(decoded.code_point)) break;
      from += decoded.bytes;
    }
    return from;
  }

 private:
  std::bitset<kSize> bits_;
};

}  // namespace signalbox::tokenizer
