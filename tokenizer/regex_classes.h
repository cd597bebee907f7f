#pragma once
// The classes of Oniguruma's regular expressions as sets of code points, in its Unicode 16.

#include <optional>
#include <string_view>

#include "tokenizer/code_point_set.h"

namespace signalbox::tokenizer::regex_classes {

/// \p{..}: a general category by its name ("Lu"), or all whose names begin with a letter ("L");
/// none where there is no such category.
std::optional<CodePointSet> category(std::string_view name);

/// \s, \d, \w and \h (hexadecimal digits) by their letters; none for other letters.
std::optional<CodePointSet> escaped(char32_t letter);

/// [:digit:], [:space:], [:xdigit:], [:word:], [:cntrl:] and [:punct:] by their names; none for
/// what is not built.
std::optional<CodePointSet> posix(std::string_view name);

/// What \w stands for outside brackets, where Oniguruma takes more for a word: six digits and
/// fractions of Latin-1.
CodePointSet word_outside_brackets();

}  // namespace signalbox::tokenizer::regex_classes
