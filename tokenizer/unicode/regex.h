#pragma once
// Regular expressions of a tokenizer.json, which are Oniguruma's: classes by Unicode's categories,
// `^` and `$` at every line, no look-around here. RE2 finds a match in linear time whatever the
// text is; all matches of a text take longer only where a pattern looks far ahead for little (a+b|a
// in a run of a). What RE2 cannot do as Oniguruma does it is refused when the file is loaded.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace re2 {
class RE2;
}

namespace signalbox::tokenizer {

/// Immutable; thread-safe. Texts are valid UTF-8 and smaller than 4 GiB.
class Regex {
 public:
  /// Errors: kCorrupt (malformed), kUnsupported (look-around, back references and what else is not
  /// built, by name), kTooLarge (more than 8 MB when compiled); "<what> at byte <where> of
  /// <pattern>".
  static Result<Regex> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  ~Regex();

  /// The first match that begins at `from` or behind it. It may be empty. Precondition: from <=
  /// text.size().
  std::optional<Span> find(std::string_view text, size_t from) const;

  /// Appends the matches from left to right. None overlap; where a choice is open, the one that a
  /// backtracking matcher meets first. A match may be empty, but not where the match before it
  /// ends, nor in an empty text.
  void find_all(std::string_view text, std::vector<Span>& matches) const;

  /// Whether the pattern may match no character at all.
  bool may_be_empty() const { return may_be_empty_; }

  /// Whether there is any match.
  bool is_in(std::string_view text) const;

 private:
  Regex(std::unique_ptr<const re2::RE2> compiled, bool may_be_empty);

  std::unique_ptr<const re2::RE2> compiled_;
  bool may_be_empty_;
};

}  // namespace signalbox::tokenizer
