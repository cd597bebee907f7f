#pragma once
// The character classes of Oniguruma's regular expressions as sets of code points, for its Unicode
// 16.

#include <optional>
#include <string_view>

#include "tokenizer/unicode/code_point_set.h"

namespace signalbox::tokenizer::regex_classes {

/// \p{..}: a general category by name ("Lu"), or all categories that begin with a letter ("L").
/// Returns nullopt for an unknown category.
std::optional<CodePointSet> category(std::string_view name);

/// \s, \d, \w and \h (hexadecimal digits) by letter. Returns nullopt for other letters.
std::optional<CodePointSet> escaped(char32_t letter);

/// [:digit:], [:space:], [:xdigit:], [:word:], [:cntrl:] and [:punct:] by name. Returns nullopt for
/// unsupported names.
std::optional<CodePointSet> posix(std::string_view name);

/// \w outside brackets, where Oniguruma includes six more characters: digits and fractions of
/// Latin-1.
CodePointSet word_outside_brackets();

}  // namespace signalbox::tokenizer::regex_classes
