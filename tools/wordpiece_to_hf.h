#pragma once
// Converts a WordPiece vocabulary to Hugging Face's tokenizer.json.

#include <span>
#include <string>

#include "base/error.h"

namespace signalbox::tools {

/// `tokens` are in the order of their ids and include [CLS], [SEP] and [UNK]; a piece inside a word
/// begins with "##"; tokens in brackets like these three are special. The tokenizer behaves like
/// BERT's: it splits words at white space and punctuation, uses lower case without accents if
/// `lowercase`, and puts [CLS] and [SEP] around a text. kCorrupt if one of the three is missing or
/// a token occurs twice.
Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens, bool lowercase);

}  // namespace signalbox::tools
