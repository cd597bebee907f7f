#pragma once
// The stages of one tokenizer.json in their order: added tokens, normaliser, words, pieces,
// template.

#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocess.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/wordpiece.h"

namespace signalbox::tokenizer {

class Pipeline final : public Tokenizer {
 public:
  struct Parts {
    AddedTokens raw_tokens;         // looked for in the text as it came
    AddedTokens normalized_tokens;  // looked for in what the normaliser made of the rest
    BertNormalizer normalizer;
    WordPiece model;
    Postprocessor postprocessor;
    int32_t vocabulary_size;
  };
  explicit Pipeline(Parts parts) : parts_(std::move(parts)) {}

  void encode(std::string_view text, const EncodeOptions& options, Encoding& out) const override;
  void encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options,
                   Encoding& out) const override;
  int32_t vocabulary_size() const override { return parts_.vocabulary_size; }

 private:
  struct Scratch;
  struct Output;
  static Scratch& scratch();
  void tokenize(std::string_view text, Normalized& normalized, Output& out) const;
  void tokenize_plain(std::string_view text, uint32_t base, Normalized& normalized,
                      Output& out) const;
  void tokenize_normalized(const Normalized& normalized, Output& out) const;

  Parts parts_;
};

}  // namespace signalbox::tokenizer
