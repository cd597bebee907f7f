#pragma once
// The stages of a tokenizer.json in order: added tokens, normalizers, words, pieces, template.

#include <memory>
#include <optional>
#include <string_view>

#include "base/buffer.h"
#include "base/mapped_file.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocess.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// The memory that holds the arrays of a compiled form.
struct Storage {
  std::optional<MappedFile> file;
  Buffer<char> copy;
};

class Pipeline final : public Tokenizer {
 public:
  struct Parts {
    Storage storage;                // first, so that it outlives the model
    AddedTokens raw_tokens;         // searched in the raw text
    AddedTokens normalized_tokens;  // searched in the normalised rest
    Normalizers normalizers;
    Pretokenizer pretokenizer;
    std::unique_ptr<const Model> model;
    Postprocessor postprocessor;
    std::vector<Spaces> spaces;  // by id, if the post-processor trims
    int32_t verbatim_id;         // for this id, spaces are counted in the text; -1: none
    int32_t vocabulary_size;
    int32_t tokens_max;  // see Tokenizer
    TruncationSide side;
  };
  /// The reason why a text may be processed in stretches that end at lone spaces. kWhole: there is
  /// none. kModel: the model splits there, although a word in the reference's sense continues.
  /// kWords: words end there.
  enum class Locality : uint8_t { kWhole, kModel, kWords };

  explicit Pipeline(Parts parts);

  void encode(std::string_view text, const EncodeOptions& options, Encoding& out) const override;
  void encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options,
                   Encoding& out) const override;
  void encode_windows(std::string_view text, const EncodeOptions& options,
                      const TakeWindow& take) const override;
  void encode_pair_windows(std::string_view first, std::string_view second,
                           const EncodeOptions& options, const TakeWindow& take) const override;
  int32_t vocabulary_size() const override { return parts_.vocabulary_size; }
  int32_t types() const override { return parts_.postprocessor.types(); }
  int32_t tokens_max() const override { return parts_.tokens_max; }
  TruncationSide side() const override { return parts_.side; }

 private:
  struct Scratch;
  struct Output;
  static Scratch& scratch();
  void tokenize(std::string_view text, Scratch& work, Output& out) const;
  void tokenize_pair(std::string_view first, std::string_view second, const EncodeOptions& options,
                     bool stops, Scratch& work, Output& first_out, Output& second_out) const;
  void tokenize_plain(std::string_view text, uint32_t base, Scratch& work, Output& out) const;
  void tokenize_stretch(std::string_view text, uint32_t base, Scratch& work, Output& out) const;
  TextView normalize(TextView text, Scratch& work) const;
  void tokenize_normalized(TextView text, Scratch& work, Output& out) const;
  TextView split(TextView text, Span part, Scratch& work) const;
  void tokenize_words(const TextView& text, Scratch& work, Output& out) const;
  Spaces spaces_at(const Token& token, std::string_view text) const;
  void add_token(int32_t id, Span place, std::string_view matched, Output& out) const;

  Parts parts_;
  Locality locality_;
};

}  // namespace signalbox::tokenizer
