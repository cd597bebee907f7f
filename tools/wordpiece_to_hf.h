#pragma once
// A vocabulary of WordPiece to Hugging ClientApi's tokenizer.json.

#include <span>
#include <string>

#include "base/error.h"

namespace signalbox::tools {

/// `tokens` in the order of their ids, pieces inside a word beginning with "##", among them [CLS],
/// [SEP] and [UNK]; tokens in brackets like these are special. What BERT does: words split at white
/// space and punctuation, lower case without accents when `lowercase`, [CLS] and [SEP] around a
/// text. kCorrupt when one of the three is missing or a token is there twice.
Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens, bool lowercase);

}  // namespace signalbox::tools
