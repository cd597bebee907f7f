#pragma once
// The BertPreTokenizer of tokenizer.json: splits at white space, and makes each punctuation
// character a word.

#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

class BertSplitter final : public Splitter {
 public:
  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override { return form == SpaceForm::kSpace; }
};

}  // namespace signalbox::tokenizer
