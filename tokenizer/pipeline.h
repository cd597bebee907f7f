#pragma once
// The stages of one tokenizer.json in their order: added tokens, normalizers, words, pieces,
// template.

#include <memory>
#include <string_view>

#include "tokenizer/added_tokens.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocess.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

class Pipeline final : public Tokenizer {
 public:
  struct Parts {
    AddedTokens raw_tokens;         // looked for in the text as it came
    AddedTokens normalized_tokens;  // looked for in what the normalizers made of the rest
    Normalizers normalizers;
    Pretokenizer pretokenizer;
    std::unique_ptr<const Model> model;
    Postprocessor postprocessor;
    int32_t vocabulary_size;
  };
  explicit Pipeline(Parts parts);

  void encode(std::string_view text, const EncodeOptions& options, Encoding& out) const override;
  void encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options,
                   Encoding& out) const override;
  int32_t vocabulary_size() const override { return parts_.vocabulary_size; }

 private:
  struct Scratch;
  struct Output;
  static Scratch& scratch();
  void tokenize(std::string_view text, Scratch& work, Output& out) const;
  void tokenize_plain(std::string_view text, uint32_t base, Scratch& work, Output& out) const;
  void tokenize_stretch(std::string_view text, uint32_t base, Scratch& work, Output& out) const;
  TextView normalize(TextView text, Scratch& work) const;
  void tokenize_normalized(TextView text, Scratch& work, Output& out) const;
  TextView split(TextView text, Span part, Scratch& work) const;
  void tokenize_words(const TextView& text, Scratch& work, Output& out) const;

  Parts parts_;
  bool is_local_;  // no stage after the first normalizer looks across a lone space
};

}  // namespace signalbox::tokenizer
