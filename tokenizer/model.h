#pragma once
// The `model` of a tokenizer.json. It converts a word to tokens.

#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

struct ModelScratch;  // in scratch.h: per-thread state kept between calls

/// Immutable; thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  /// Appends the tokens of text[word], with spans relative to `text`. The word must be valid UTF-8
  /// and not empty.
  virtual void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                        std::vector<Token>& tokens) const = 0;

  /// Returns true if a word may be split before a lone space mark (" " or U+2581) and its parts
  /// tokenized separately with the same result.
  virtual bool is_local() const { return false; }
};

}  // namespace signalbox::tokenizer
