#pragma once
// WordPiece splits a word from the left into the longest pieces of the vocabulary. Pieces after the
// first carry a prefix ("##ing"). A word that cannot be split this way, or is too long, becomes one
// unknown token. Schuster and Nakajima, Japanese and Korean voice search, 2012; as used in BERT.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/models/vocabulary.h"

namespace signalbox::tokenizer {

class WordPiece final : public Model {
 public:
  struct Options {
    std::string_view continuing_prefix;
    int32_t unknown_id;
    int64_t word_code_points_max;  // longer words are unknown
  };
  WordPiece(Vocabulary vocabulary, const Options& options);
  const Vocabulary& vocabulary() const { return heads_; }

  void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                std::vector<Token>& tokens) const override;

 private:
  bool is_too_long(std::string_view word) const;

  Vocabulary heads_;  // all pieces unchanged
  Vocabulary tails_;  // the pieces with the prefix, stored without it
  int32_t unknown_id_;
  int64_t word_code_points_max_;
};

}  // namespace signalbox::tokenizer
