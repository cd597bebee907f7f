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
