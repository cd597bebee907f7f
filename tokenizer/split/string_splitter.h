#pragma once
// The Split of tokenizer.json with a plain string as its pattern.

#include <string>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/split/delimiters.h"

namespace signalbox::tokenizer {

class StringSplitter final : public Splitter {
 public:
  /// `delimiter` must not be empty. With `invert`, the text between two delimiters is treated as
  /// the delimiter.
  StringSplitter(std::string delimiter, Behavior behavior, bool invert)
      : delimiter_(std::move(delimiter)), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm form) const override;
  bool cuts_at_spaces(SpaceForm form) const override;

 private:
  std::string delimiter_;
  Behavior behavior_;
  bool invert_;
};

}  // namespace signalbox::tokenizer
