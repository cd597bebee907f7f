#pragma once
// Converts a WordPiece vocabulary to Hugging Face's tokenizer.json.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/vocabulary/hf_sections.h"

namespace signalbox::tools {

struct WordPieceOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  // nullopt: as `lowercase`
  bool split_chinese = true;               // each Chinese character is a word
  std::string begin = "[CLS]";             // in front of a text
  std::string end = "[SEP]";               // after a text
  std::string unknown = "[UNK]";           // instead of a word without pieces
  /// Replaces the tokens of added_wordpieces().
  std::optional<std::vector<HfAddedToken>> added_tokens = {};
};

/// `tokens` are in the order of their ids and include the three of the options; a piece inside a
/// word begins with "##". The tokenizer behaves like BERT's: it splits words at white space and
/// punctuation, uses lower case without accents if `lowercase`, and puts `begin` and `end` around a
/// text. kCorrupt if one of the three tokens is missing or a token occurs twice.
Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens,
                                    const WordPieceOptions& options);

/// Returns the tokens that BERT finds in a text before it splits the text: [CLS] and others.
std::vector<HfAddedToken> added_wordpieces(std::span<const std::string> tokens);

}  // namespace signalbox::tools
