#pragma once
// The `model` of a tokenizer.json: a word to tokens.

#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

struct ModelScratch;  // scratch.h: what a thread keeps between calls

/// Immutable; thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  /// Appends the tokens of text[word], with spans in `text`. Precondition: the word is not empty
  /// and is valid UTF-8.
  virtual void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                        std::vector<Token>& tokens) const = 0;

  /// Whether a word may be cut before a lone mark of a space, be it " " or U+2581, and its parts
  /// tokenized apart with the same result.
  virtual bool is_local() const { return false; }
};

}  // namespace signalbox::tokenizer
