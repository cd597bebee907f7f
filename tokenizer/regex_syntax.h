#pragma once
// Oniguruma's syntax of regular expressions in RE2's. The two agree on what is written the same way
// for a small language only, so a pattern is parsed and written anew, and nothing passes through
// unread. Classes become lists of code points: RE2's own are ASCII's or of another Unicode.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::tokenizer {

struct TranslatedRegex {
  std::string pattern;
  bool may_be_empty;  // it may match no character
};

/// Errors: kCorrupt (malformed), kUnsupported (not built), kTooLarge (nested too deep): "<pattern>:
/// <what> at byte <where>".
Result<TranslatedRegex> to_re2(std::string_view pattern);

}  // namespace signalbox::tokenizer
