#pragma once
// Translates Oniguruma's regular expression syntax to RE2's. Both give the same meaning to only a
// small common language. A pattern is therefore parsed completely and written anew. Classes become
// lists of code points, because RE2's own classes are limited to ASCII or use another Unicode
// version.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::tokenizer {

struct TranslatedRegex {
  std::string pattern;
  bool may_be_empty;  // it can match the empty string
};

/// Errors: kCorrupt (malformed), kUnsupported, kTooLarge (nested too deeply): "<pattern>: <what> at
/// byte <where>".
Result<TranslatedRegex> to_re2(std::string_view pattern);

}  // namespace signalbox::tokenizer
