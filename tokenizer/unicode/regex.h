#pragma once
// Regular expressions of a tokenizer.json in Oniguruma's dialect: classes by Unicode category, `^`
// and `$` at every line, no look-around. RE2 finds one match in linear time for any text. Finding
// all matches takes longer only if a pattern looks far ahead and matches little (a+b|a in a run of
// a). Constructs that RE2 cannot execute exactly like Oniguruma are rejected when the file is
// loaded.

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

/// Immutable; thread-safe. Texts must be valid UTF-8 and smaller than 4 GiB.
class Regex {
 public:
  /// Errors: kCorrupt (malformed), kUnsupported (look-around, back references and other unsupported
  /// constructs, by name), kTooLarge (more than 8 MB when compiled); "<what> at byte <where> of
  /// <pattern>".
  static Result<Regex> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  ~Regex();

  /// Returns the first match that begins at or after `from`; it may be empty. Requires from <=
  /// text.size().
  std::optional<Span> find(std::string_view text, size_t from) const;

  /// Appends all matches from left to right without overlaps. Among alternatives it takes the match
  /// that a backtracking matcher finds first. A match may be empty, but not directly at the end of
  /// the previous match and not in an empty text.
  void find_all(std::string_view text, std::vector<Span>& matches) const;

  /// Returns true if the pattern can match the empty string.
  bool may_be_empty() const { return may_be_empty_; }

  /// Returns true if the text contains a match.
  bool is_in(std::string_view text) const;

 private:
  Regex(std::unique_ptr<const re2::RE2> compiled, bool may_be_empty);

  std::unique_ptr<const re2::RE2> compiled_;
  bool may_be_empty_;
};

}  // namespace signalbox::tokenizer
