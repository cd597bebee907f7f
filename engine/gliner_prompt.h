#pragma once
// The tokens that GLiNER reads: each label behind a mark, a mark that ends the labels, then the
// words of a text.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/gliner.h"
#include "engine/gliner_config.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// A text behind the labels.
struct GlinerSequence {
  std::vector<int32_t> ids;            // (tokens)
  std::vector<tokenizer::Span> words;  // (words): bytes of the text
  GlinerLayout layout;
  bool is_cut = false;  // words or tokens of the text were left out
};

/// Immutable, thread-safe.
class GlinerPrompt {
 public:
  /// `tokenizer` must outlive the prompt. The encoder reads `tokens_max` tokens, and the
  /// labels may take half of them. Its ids are below `vocabulary`. kInvalid for labels that are too
  /// many, too long, empty, equal, or contain a mark; kCorrupt if the marks have no ids.
  static Result<GlinerPrompt> create(const GlinerConfig& config,
                                     const tokenizer::Tokenizer& tokenizer,
                                     std::span<const std::string> labels, int32_t tokens_max,
                                     int32_t vocabulary);

  /// Tokens of a sequence without those of the labels.
  int32_t text_tokens_max() const { return tokens_max_ - label_tokens(); }
  /// Tokens of the labels and their marks.
  int32_t label_tokens() const { return static_cast<int32_t>(labels_.size()); }
  /// Tokens at the beginning and the end of any sequence.
  int32_t special_tokens() const { return static_cast<int32_t>(begin_.size() + end_.size()); }

  GlinerSequence read(std::string_view text) const;
  /// Returns the number of tokens of the words [0, ...) of a text.
  std::vector<int32_t> word_tokens(std::string_view text,
                                   std::span<const tokenizer::Span> words) const;

 private:
  explicit GlinerPrompt(const tokenizer::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  Result<void> read_marks(const GlinerConfig& config, int32_t vocabulary);
  Result<void> add_label(const GlinerConfig& config, std::string_view label);

  const tokenizer::Tokenizer* tokenizer_;
  int32_t tokens_max_ = 0;
  int32_t words_max_ = 0;
  int32_t label_mark_ = 0, text_mark_ = 0;  // ids
  std::vector<int32_t> begin_, end_;        // ids around any text
  std::vector<int32_t> labels_;             // ids
  std::vector<int32_t> label_rows_;         // (labels): the token that stands for each
};

}  // namespace signalbox::engine
