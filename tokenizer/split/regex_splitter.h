#pragma once
// The Split of tokenizer.json with a regular expression. The patterns of current language models
// end in `\s+(?!\S)|\s+`, the only supported look-ahead: it matches white space but leaves its last
// character to the next word.

#include <string_view>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/split/delimiters.h"
#include "tokenizer/unicode/regex.h"

namespace signalbox::tokenizer {

class RegexSplitter final : public Splitter {
 public:
  /// Errors: see Regex::compile.
  static Result<RegexSplitter> compile(std::string_view pattern, Behavior behavior, bool invert);

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override {
    return cuts_at_spaces_ && form == SpaceForm::kSpace;
  }

 private:
  RegexSplitter(Regex regex, bool takes_spaces, Behavior behavior, bool invert,
                bool cuts_at_spaces);

  Regex regex_;        // the whole pattern, or the part before the tail
  bool takes_spaces_;  // the pattern has the tail
  Behavior behavior_;
  bool invert_;
  bool cuts_at_spaces_;
};

}  // namespace signalbox::tokenizer
