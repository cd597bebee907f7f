#pragma once
// A set of code points as ranges: what a class of a regular expression becomes.

#include <cstdint>
#include <vector>

namespace signalbox::tokenizer {

class CodePointSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;
  };

  CodePointSet() = default;
  /// Every code point for which holds(code_point) is true.
  template <class Predicate>
  static CodePointSet of(const Predicate& holds) {
    CodePointSet out;
    for (char32_t c = 0; c <= kLast; ++c) {
      if (!holds(c)) continue;
      const char32_t first = c;
      while (c < kLast && holds(c + 1)) ++c;
      out.ranges_.push_back({first, c});
    }
    return out;
  }

  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  void add(const CodePointSet& other) {
    ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  }

  /// In order, neither overlapping nor touching.
  std::vector<Range> ranges() const;
  CodePointSet complement() const;

 private:
  static constexpr char32_t kLast = 0x10FFFF;

  std::vector<Range> ranges_;  // in any order
};

}  // namespace signalbox::tokenizer
