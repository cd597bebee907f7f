#pragma once
// Byte pair encoding: a word begins as its characters, and the two neighbours with the
// lowest-ranked merge become one token until no merge is left. Sennrich, Haddow and Birch, Neural
// machine translation of rare words with subword units, 2016; byte-level as in GPT-2, with byte
// fallback as in sentencepiece.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/junctions.h"
#include "tokenizer/merges.h"
#include "tokenizer/model.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

/// Working space for one word.
struct BpeScratch {
  struct Symbol {
    int32_t id;
    uint32_t bytes;  // of the word; 0: swallowed by its left neighbour
    int32_t previous;
    int32_t next;  // -1: none
  };
  struct Candidate {
    uint32_t rank;
    uint32_t position;  // of the left symbol
    int32_t id;         // of the token that it becomes
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
  std::string spelled;  // a character as the vocabulary writes it
};

class Bpe final : public Model {
 public:
  struct Options {
    bool byte_level = false;        // words are bytes, pieces are written in GPT-2's alphabet
    bool byte_fallback = false;     // an unknown character becomes the tokens <0x00> to <0xFF>
    bool fuse_unknown = false;      // neighbouring unknown characters are one token
    bool ignore_merges = false;     // a word that is a piece is that piece
    bool fallback_merges = false;   // some merge takes a token that stands for one byte
    int32_t unknown_id = -1;        // -1: an unknown character is left out
    std::string continuing_prefix;  // in front of every character of a word but the first
    std::string end_suffix;         // behind the last
  };
  Bpe(Vocabulary vocabulary, Merges merges, Junctions junctions, Options options);

  void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                std::vector<Token>& tokens) const override;
  bool is_local() const override { return is_local_; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Merges& merges() const { return merges_; }
  const Junctions& junctions() const { return junctions_; }
  const Options& options() const { return options_; }

  /// Whether every character has a token, so that none is ever unknown.
  static bool covers_all(const Vocabulary& vocabulary, const Options& options);

 private:
  using Symbol = BpeScratch::Symbol;

  uint32_t unit_end(std::string_view text, uint32_t begin, uint32_t end) const;
  void tokenize_unit(std::string_view text, Span unit, ModelScratch& scratch,
                     std::vector<Token>& tokens) const;
  void merge_unit(std::string_view unit, uint32_t begin, BpeScratch& scratch,
                  std::vector<Token>& tokens) const;
  void spell(std::string_view unit, BpeScratch& scratch) const;
  int32_t id_of(std::string_view unit, Span character, BpeScratch& scratch) const;
  bool fall_back(BpeScratch& scratch) const;
  void merge_by_scan(std::vector<Symbol>& symbols) const;
  void merge_by_queue(BpeScratch& scratch) const;
  void offer(const BpeScratch& scratch, int32_t left,
             std::vector<BpeScratch::Candidate>& out) const;

  Vocabulary vocabulary_;
  Merges merges_;
  Junctions junctions_;
  Options options_;
  std::array<int32_t, 256> byte_ids_;   // of each byte: its character, or its fallback; -1: none
  std::array<int32_t, 128> ascii_ids_;  // of each ASCII character; -1: none
  bool plain_;                          // neither prefix nor suffix
  bool can_cut_;
  bool is_local_;
  uint64_t owner_;  // of words in a cache
};

}  // namespace signalbox::tokenizer
