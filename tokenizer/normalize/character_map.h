#pragma once
// Normalizers that process single code points: Lowercase, StripAccents, Nmt.

#include <string_view>

#include "tokenizer/normalize/stable_set.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {

class CharacterMap final : public Normalizer {
 public:
  /// Returns the replacement of a code point; size 0 removes it. Must be a pure function.
  using Map = unicode::Expansion (*)(char32_t);

  explicit CharacterMap(Map map);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  bool is_local() const override { return true; }

 private:
  Map map_;
  StableSet stable_;
};

/// Removes category M. This is more than accents: it also removes vowel signs of Indic scripts.
unicode::Expansion without_marks(char32_t c);

/// sentencepiece's clean-up for neural machine translation: removes controls and replaces
/// separators and invisible characters by spaces.
unicode::Expansion clean_for_translation(char32_t c);

}  // namespace signalbox::tokenizer
