#pragma once
// Unigram: each piece has a score, the logarithm of its probability. A word is split so that the
// sum of the scores is maximal (Kudo, Subword regularization, 2018), with Viterbi's algorithm in
// one pass. A character that is not a piece can stand alone at a penalty; adjacent unknown
// characters form one token. Sums use the order and precision of the reference, because equal sums
// are common ("aa" + "a", "a" + "aa") and the last bit then decides.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/models/piece_trie.h"
#include "tokenizer/models/vocabulary.h"

namespace signalbox::tokenizer {

/// Per-thread state kept between calls.
struct UnigramScratch {
  struct Best {
    double score;    // of the best path to here
    uint32_t begin;  // of its last piece; UINT32_MAX: no path yet
    uint32_t node;   // of that piece in the trie; UINT32_MAX: unknown
  };
  std::vector<Best> best;     // (bytes of the word + 1)
  std::vector<Token> tokens;  // in reverse order
};

class Unigram final : public Model {
 public:
  struct Piece {
    std::string_view text;
    double score;
  };
  /// A piece's id is its index in `pieces`; for equal pieces the last counts. `unknown_id` must be
  /// a valid index, and no piece may be longer than Vocabulary::kPieceBytesMax. With
  /// `byte_fallback`, unknown text becomes a token "<0x0A>" for each of its bytes, if all of them
  /// are pieces.
  Unigram(const std::vector<Piece>& pieces, int32_t unknown_id, bool byte_fallback);
  const Vocabulary& vocabulary() const { return vocabulary_; }

  void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                std::vector<Token>& tokens) const override;

 private:
  void put(std::string_view word, uint32_t begin, UnigramScratch& scratch,
           std::vector<Token>& tokens) const;
  void find_best(std::string_view word, UnigramScratch& scratch) const;
  void collect(UnigramScratch& scratch) const;
  void put_unknown(std::string_view unknown, Span span, std::vector<Token>& tokens) const;

  Vocabulary vocabulary_;
  PieceTrie trie_;
  int32_t unknown_id_;
  double unknown_score_;
  uint64_t owner_;                 // owner number in the word cache
  std::vector<int32_t> byte_ids_;  // (256), -1: not a piece; empty without byte_fallback
};

}  // namespace signalbox::tokenizer
