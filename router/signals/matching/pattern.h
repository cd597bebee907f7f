#pragma once
// Regular expressions of the configuration, in RE2's syntax: matching takes linear time for every
// pattern. No other part of the router uses RE2.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace re2 {
class RE2;
}

namespace signalbox::signals {

/// Immutable and thread-safe.
class Pattern {
 public:
  /// Counting searches the text again after each match, so both the text and the count are bounded.
  static constexpr size_t kCountedBytesMax = size_t{256} << 10;
  static constexpr size_t kCountMax = 1024;

  /// kInvalid with RE2's message; kTooLarge for a pattern that compiles to more than 8 MB.
  static Result<Pattern> compile(std::string_view pattern, bool case_sensitive);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool is_in(std::string_view text) const;
  /// Counts matches that do not overlap, at most kCountMax, in the first kCountedBytesMax of the
  /// text.
  size_t count(std::string_view text) const;

  struct Span {
    size_t begin, end;  // bytes, half-open
  };
  /// Returns the first match in the first kCountedBytesMax of the text that begins at `from` or
  /// later.
  std::optional<Span> find(std::string_view text, size_t from) const;

 private:
  explicit Pattern(std::unique_ptr<const re2::RE2> compiled);
  std::unique_ptr<const re2::RE2> compiled_;
};

}  // namespace signalbox::signals
