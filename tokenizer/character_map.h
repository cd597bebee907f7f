#pragma once
// Normalizers that look at one code point at a time: Lowercase, StripAccents, Nmt.

#include <string_view>

#include "tokenizer/normalizer.h"
#include "tokenizer/stable_set.h"
#include "tokenizer/unicode.h"

namespace signalbox::tokenizer {

class CharacterMap final : public Normalizer {
 public:
  /// What a code point becomes; size 0 removes it. A pure function.
  using Map = unicode::Expansion (*)(char32_t);

  explicit CharacterMap(Map map);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  bool is_local() const override { return true; }

 private:
  Map map_;
  StableSet stable_;
};

/// Without category M, which is more than what is usually called an accent: vowel signs of Indic
/// scripts go too.
unicode::Expansion without_marks(char32_t c);

/// Neural machine translation's clean-up, as sentencepiece has it: controls go, separators and what
/// is invisible become spaces.
unicode::Expansion clean_for_translation(char32_t c);

}  // namespace signalbox::tokenizer
