#pragma once
// Finds all occurrences of many patterns in one pass over a text, whatever their number (Aho and
// Corasick 1975).

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::signals {

/// A deterministic automaton over bytes. Bytes that occur in no pattern share one column of the
/// table, which keeps it small enough for the second-level cache. Immutable and thread-safe.
class KeywordAutomaton {
 public:
  /// Patterns must be distinct and not empty. kTooLarge if the table would exceed 64 MiB.
  static Result<KeywordAutomaton> build(std::span<const std::string> patterns);

  /// Calls hit(pattern, end) for every occurrence, in the order of their ends; the pattern is the
  /// text just before `end`.
  template <class Hit>
  void scan(std::string_view text, Hit&& hit) const {
    if (outputs_.empty()) return;
    uint32_t at = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      at = next_[(at >> 1) + class_of_[static_cast<unsigned char>(text[i])]];
      if ((at & 1) == 0) continue;
      for (uint32_t state = outputs_[(at >> 1) / classes_].state; state != 0;
           state = outputs_[state].shorter) {
        hit(outputs_[state].pattern, i + 1);
      }
    }
  }

 private:
  struct Output {
    uint32_t state = 0;    // this state or its longest suffix that ends a pattern; 0: none
    uint32_t shorter = 0;  // the next shorter suffix that ends a pattern; 0: none
    uint32_t pattern = kNone;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t classes_ = 0;
  std::array<uint16_t, 256> class_of_{};
  // (states, classes_): twice the start of the next state's row, plus 1 if that state ends a
  // pattern. Computing the row and reading outputs_ for every byte would take as long as the rest
  // of the scan.
  std::vector<uint32_t> next_;
  std::vector<Output> outputs_;  // (states)
};

}  // namespace signalbox::signals
