#pragma once
// Unigram: each piece has a score, the logarithm of its probability, and a word is cut where the
// sum of the scores is the largest (Kudo, Subword regularization, 2018), by Viterbi's algorithm in
// one pass. A character that is no piece itself may stand alone at a penalty, and unknown
// neighbours are one token. Sums are made in the order and the precision of the reference, because
// pieces of equal sums are common ("aa" + "a", "a" + "aa") and the last bit decides between them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

/// What a thread keeps between calls.
struct UnigramScratch {
  struct Best {
    double score;    // of the best path to here
    uint32_t begin;  // of its last piece; UINT32_MAX: no path yet
    uint32_t node;   // of that piece in the trie; UINT32_MAX: unknown
  };
  std::vector<Best> best;     // (bytes of the word + 1)
  std::vector<Token> tokens;  // backwards
};

class Unigram final : public Model {
 public:
  struct Piece {
    std::string_view text;
    double score;
  };
  /// The id of a piece is its place among `pieces`; of equal ones the last counts. Preconditions:
  /// unknown_id is one of them; no piece is longer than Vocabulary::kPieceBytesMax.
  /// `byte_fallback`: unknown text becomes a token for each of its bytes, "<0x0A>", when all those
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
  uint64_t owner_;                 // of words in the cache
  std::vector<int32_t> byte_ids_;  // (256), -1: not a piece; empty without byte_fallback
};

}  // namespace signalbox::tokenizer
