#pragma once
// Regular expressions that users write: RE2's syntax, time linear in the text whatever the pattern.
// The one place of the router that knows RE2.

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace re2 {
class RE2;
}

namespace signalbox::signals {

/// Immutable; thread-safe.
class Pattern {
 public:
  /// To find all matches a text is searched again behind each, so both are bounded.
  static constexpr size_t kCountedBytesMax = size_t{256} << 10;
  static constexpr size_t kCountMax = 1024;

  /// kInvalid with RE2's own words; kTooLarge for a pattern over 8 MB when compiled.
  static Result<Pattern> compile(std::string_view pattern, bool case_sensitive);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool is_in(std::string_view text) const;
  /// Matches that do not overlap, at most kCountMax, in the first kCountedBytesMax of the text.
  size_t count(std::string_view text) const;

 private:
  explicit Pattern(std::unique_ptr<const re2::RE2> compiled);
  std::unique_ptr<const re2::RE2> compiled_;
};

}  // namespace signalbox::signals
