// Ranges are collected unsorted and sorted when they are read.

#include "tokenizer/unicode/code_point_set.h"

#include <algorithm>

namespace signalbox::tokenizer {

std::vector<CodePointSet::Range> CodePointSet::ranges() const {
  std::vector<Range> sorted = ranges_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> out;
  for (const Range& range : sorted) {
    if (out.empty() || range.first > out.back().last + 1) {
      out.push_back(range);
    } else {
      out.back().last = std::max(out.back().last, range.last);
    }
  }
  return out;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  for (const Range& range : ranges()) {
    if (range.first > next) out.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLast) out.add(next, kLast);
  return out;
}

}  // namespace signalbox::tokenizer
