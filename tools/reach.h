#pragma once
// Spans that are marked where no tagger marks any: inside a word, with white space, behind what a
// model reads. Held against them every answer is wrong.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"
#include "tools/marked.h"

namespace signalbox::tools {

/// How many of a text's spans, as marked_spans() gives them, the engine does not find from scores
/// that are all right.
int64_t out_of_reach(const tokenizer::Tokenizer& tokenizer, int32_t tokens_max,
                     std::string_view text, std::span<const Marked> spans);

/// A line for people, without its end.
std::string words_of_reach(int64_t spans);

}  // namespace signalbox::tools
