#pragma once
// WordPiece: a word is cut from its left into the longest pieces of the vocabulary; pieces after
// the first carry a prefix ("##ing"). A word that cannot be cut so, or is too long, is one unknown
// token. Schuster and Nakajima, Japanese and Korean voice search, 2012; as BERT uses it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

class WordPiece final : public Model {
 public:
  struct Options {
    std::string_view continuing_prefix;
    int32_t unknown_id;
    int64_t word_code_points_max;  // a longer word is unknown
  };
  WordPiece(Vocabulary vocabulary, const Options& options);
  const Vocabulary& vocabulary() const { return heads_; }

  void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                std::vector<Token>& tokens) const override;

 private:
  bool is_too_long(std::string_view word) const;

  Vocabulary heads_;  // every piece as it stands
  Vocabulary tails_;  // the pieces that carry the prefix, without it
  int32_t unknown_id_;
  int64_t word_code_points_max_;
};

}  // namespace signalbox::tokenizer
