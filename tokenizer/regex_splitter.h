#pragma once
// The Split of tokenizer.json with a regular expression. Those of today's language models end in
// `\s+(?!\S)|\s+`, the one look-ahead that is built: white space, but the last of it left to the
// word behind.

#include <string_view>

#include "tokenizer/delimiters.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/regex.h"

namespace signalbox::tokenizer {

class RegexSplitter final : public Splitter {
 public:
  /// Errors: as Regex::compile.
  static Result<RegexSplitter> compile(std::string_view pattern, Behavior behavior, bool invert);

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override {
    return cuts_at_spaces_ && form == SpaceForm::kSpace;
  }

 private:
  RegexSplitter(Regex regex, bool takes_spaces, Behavior behavior, bool invert,
                bool cuts_at_spaces);

  Regex regex_;        // the whole pattern, or what stands in front of the tail
  bool takes_spaces_;  // whether it has the tail
  Behavior behavior_;
  bool invert_;
  bool cuts_at_spaces_;
};

}  // namespace signalbox::tokenizer
