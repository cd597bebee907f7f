#pragma once
// A text without those of its parts that another text, its base, has as well.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::dialects {

struct SparseText {
  /// A part that is left out: where it belongs in `kept`, and where the base has it.
  struct Gap {
    size_t at, from, bytes;
  };

  std::string kept = {};
  std::vector<Gap> gaps = {};  // in the order of `at`

  /// Appends the whole text.
  void append_to(std::string& out, std::string_view base) const;
  size_t size() const;  // of the whole text
  size_t memory_bytes() const { return kept.capacity() + gaps.capacity() * sizeof(Gap); }
};

}  // namespace signalbox::dialects
