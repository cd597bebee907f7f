#pragma once
// GPT-2's splitting pattern, which is built into ByteLevel of tokenizer.json:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// It is written by hand because every text for ModernBERT passes through it.

#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {

class Gpt2Splitter final : public Splitter {
 public:
  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  // In a word, a space before other characters can only be the first character.
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override { return form == SpaceForm::kSpace; }

 private:
  const unicode::ClassTable& classes_ = unicode::ClassTable::get();
};

}  // namespace signalbox::tokenizer
