#pragma once
// Counts labelled spans that no tagger can predict because they begin or end inside a word, include
// white space at an end, or lie behind the part of the text that the model reads.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"
#include "tools/labels.h"

namespace signalbox::tools {

/// Returns how many of a text's spans, as read_spans() returns them, the engine does not recover
/// even from perfect scores.
int64_t count_unreachable_spans(const tokenizer::Tokenizer& tokenizer, int32_t tokens_max,
                                std::string_view text, std::span<const LabelledSpan> spans);

/// Returns a note for the terminal, without a line end.
std::string unreachable_spans_note(int64_t spans);

}  // namespace signalbox::tools
