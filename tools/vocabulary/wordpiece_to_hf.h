#pragma once
// Converts a WordPiece vocabulary to Hugging Face's tokenizer.json.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tools/vocabulary/hf_sections.h"

namespace signalbox::tools {

/// The special tokens of a family of networks, and the form of its pairs.
struct WordPieceFamily {
  std::string_view name, begin, end, unknown, padding, mask;
  bool is_as_roberta;  // <s> A </s> </s> B </s>, and its mask takes the space before it
};
inline constexpr WordPieceFamily kBertFamily{"BERT",  "[CLS]",  "[SEP]", "[UNK]",
                                             "[PAD]", "[MASK]", false};
inline constexpr WordPieceFamily kMpnetFamily{"MPNet", "<s>",    "</s>", "[UNK]",
                                              "<pad>", "<mask>", true};

struct WordPieceOptions {
  const WordPieceFamily& family = kBertFamily;
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  // nullopt: as `lowercase`
  bool split_chinese = true;               // each Chinese character is a word
  std::string begin{family.begin};         // in front of a text
  std::string end{family.end};             // after a text
  std::string unknown{family.unknown};     // instead of a word without pieces
  /// Replaces the tokens of added_wordpieces().
  std::optional<std::vector<HfAddedToken>> added_tokens = {};
};

/// `tokens` are in the order of their ids and include the three of the options; a piece inside a
/// word begins with "##". The tokenizer behaves like BERT's: it splits words at white space and
/// punctuation, uses lower case without accents if `lowercase`, and puts `begin` and `end` around a
/// text. kCorrupt if one of the three tokens is missing or a token occurs twice.
Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens,
                                    const WordPieceOptions& options);

/// Returns the special tokens of the family that the vocabulary contains. They are found in a text
/// before the text is split.
std::vector<HfAddedToken> added_wordpieces(const WordPieceFamily& family,
                                           std::span<const std::string> tokens);

}  // namespace signalbox::tools
