#pragma once
// WordPiece: a word is cut from its left into the longest pieces of the vocabulary; pieces after
// the first carry a prefix ("##ing"). A word that cannot be cut so, or is too long, is one unknown
// token. Schuster and Nakajima, Japanese and Korean voice search, 2012; as BERT uses it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

/// Immutable; thread-safe.
class WordPiece {
 public:
  struct Options {
    std::string_view continuing_prefix;
    int32_t unknown_id;
    int64_t word_code_points_max;  // a longer word is unknown
  };
  /// Copies what it needs of `vocabulary`, whose pieces must differ from each other.
  WordPiece(const std::vector<Vocabulary::Entry>& vocabulary, const Options& options);

  /// Appends the tokens of text[word], with spans in `text`. Precondition: the word is not empty
  /// and is valid UTF-8.
  void tokenize(std::string_view text, Span word, std::vector<Token>& tokens) const;

 private:
  bool is_too_long(std::string_view word) const;

  Vocabulary heads_;  // every piece as it stands
  Vocabulary tails_;  // the pieces that carry the prefix, without it
  int32_t unknown_id_;
  int64_t word_code_points_max_;
};

}  // namespace signalbox::tokenizer
