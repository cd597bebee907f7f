#pragma once
// A set of code points as ranges, used for the character classes of regular expressions.

#include <cstdint>
#include <vector>

namespace signalbox::tokenizer {

class CodePointSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;
  };

  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  void add(const CodePointSet& other) {
    ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  }

  /// Sorted; ranges neither overlap nor touch.
  std::vector<Range> ranges() const;
  CodePointSet complement() const;

 private:
  static constexpr char32_t kLast = 0x10FFFF;

  std::vector<Range> ranges_;  // unsorted
};

}  // namespace signalbox::tokenizer
