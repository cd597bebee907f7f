#pragma once
// Byte pair encoding. A word starts as a sequence of characters. The adjacent pair with the lowest
// merge rank becomes one token, until no merge applies. Sennrich, Haddow and Birch, Neural machine
// translation of rare words with subword units, 2016; byte-level as in GPT-2, with byte fallback as
// in sentencepiece.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/models/junctions.h"
#include "tokenizer/models/merges.h"
#include "tokenizer/models/vocabulary.h"

namespace signalbox::tokenizer {

/// Working space for one word.
struct BpeScratch {
  struct Symbol {
    int32_t id;
    uint32_t bytes;  // length in the word; 0: merged into its left neighbour
    int32_t previous;
    int32_t next;  // -1 at the end
  };
  struct Candidate {
    uint32_t rank;
    uint32_t position;  // of the left symbol
    int32_t id;         // of the resulting token
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
  std::string spelled;  // a character as spelled in the vocabulary
};

class Bpe final : public Model {
 public:
  struct Options {
    bool byte_level = false;        // words are bytes; pieces are written in GPT-2's alphabet
    bool byte_fallback = false;     // an unknown character becomes the tokens <0x00> to <0xFF>
    bool fuse_unknown = false;      // adjacent unknown characters form one token
    bool ignore_merges = false;     // a word that is a piece becomes that piece
    bool fallback_merges = false;   // some merge uses a token for a single byte
    int32_t unknown_id = -1;        // -1: unknown characters are dropped
    std::string continuing_prefix;  // prepended to every character of a word except the first
    std::string end_suffix;         // appended to the last character of a word
  };
  Bpe(Vocabulary vocabulary, Merges merges, Junctions junctions, Options options);

  void tokenize(std::string_view text, Span word, ModelScratch& scratch,
                std::vector<Token>& tokens) const override;
  bool is_local() const override { return is_local_; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Merges& merges() const { return merges_; }
  const Junctions& junctions() const { return junctions_; }
  const Options& options() const { return options_; }

  /// Returns true if every character has a token, so that none is ever unknown.
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
  std::array<int32_t, 256> byte_ids_;   // per byte: id of its character or fallback; -1: none
  std::array<int32_t, 128> ascii_ids_;  // per ASCII character; -1: none
  bool plain_;                          // there is neither a prefix nor a suffix
  bool can_cut_;
  bool is_local_;
  uint64_t owner_;  // owner number in the word cache
};

}  // namespace signalbox::tokenizer
