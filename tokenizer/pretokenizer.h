#pragma once
// The BertPreTokenizer of tokenizer.json: words are what white space separates, and each
// punctuation character is a word of its own.

#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// Appends the words of text[part], which is valid UTF-8, to `words`: byte ranges of `text`, in
/// order. Thread-safe.
void split_bert_words(std::string_view text, Span part, std::vector<Span>& words);

}  // namespace signalbox::tokenizer
