#pragma once
// The pattern that GPT-2 splits by, which ByteLevel of tokenizer.json has built in:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Written by hand: it is on the way of every text of ModernBERT's.

#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode.h"

namespace signalbox::tokenizer {

class Gpt2Splitter final : public Splitter {
 public:
  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  // Only at its first character does a word have a space before something else.
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override { return form == SpaceForm::kSpace; }

 private:
  const unicode::ClassTable& classes_ = unicode::ClassTable::get();
};

}  // namespace signalbox::tokenizer
