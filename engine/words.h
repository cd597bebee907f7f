#pragma once
// Splits a text into words for networks that mark words.

#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Returns the bytes of each word: letters, digits and "_", also with "-" inside; any other
/// character that is not white space is a word of its own. A byte that is not UTF-8 is such a
/// character.
std::vector<tokenizer::Span> split_words(std::string_view text);

}  // namespace signalbox::engine
