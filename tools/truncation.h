#pragma once
// Counts the texts that were truncated, so that a command can report them once at its end.

#include <cstddef>
#include <string_view>

namespace signalbox::tools {

class TruncationCounter {
 public:
  void add(bool is_cut) {
    ++texts_;
    cut_ += is_cut ? 1 : 0;
  }
  /// Prints one line to standard error if any text was truncated: "signalbox tag: 1 of 2 texts is
  /// longer than LIMIT; ...".
  void print(std::string_view command, std::string_view limit) const;

 private:
  size_t texts_ = 0, cut_ = 0;
};

}  // namespace signalbox::tools
