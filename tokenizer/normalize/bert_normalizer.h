#pragma once
// The BertNormalizer of tokenizer.json: removes control characters, puts spaces around Chinese
// characters, strips accents and converts to lower case. The reference makes four passes over the
// text. Here each code point goes through all four steps at once, which gives the same text and
// alignment.

#include <array>
#include <string_view>

#include "tokenizer/normalizer.h"

namespace signalbox::tokenizer {

struct BertNormalizerOptions {
  bool clean_text = false;  // drop NUL, U+FFFD and controls; every white space becomes a space
  bool handle_chinese_chars = false;  // add a space on both sides of each
  bool strip_accents = false;         // NFD, then remove category Mn
  bool lowercase = false;             // code point by code point
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  bool is_local() const override { return true; }

 private:
  struct Work;
  void put(char32_t c, Span from, Work& work, Normalized& out) const;
  void put_clean(char32_t c, Span from, Work& work, Normalized& out) const;
  void put_final(char32_t c, Span from, Normalized& out) const;

  BertNormalizerOptions options_;
  std::array<char, 128> ascii_;  // result for each ASCII character, or kRemoved
};

}  // namespace signalbox::tokenizer
