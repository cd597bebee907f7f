#pragma once
// The Split of tokenizer.json with a plain string for a pattern.

#include <string>

#include "tokenizer/delimiters.h"
#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

class StringSplitter final : public Splitter {
 public:
  /// Precondition: `delimiter` is not empty. With `invert`, what lies between two delimiters is
  /// one.
  StringSplitter(std::string delimiter, Behavior behavior, bool invert);

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local() const override { return is_local_; }
  bool cuts_at_spaces() const override { return cuts_at_spaces_; }

 private:
  std::string delimiter_;
  Behavior behavior_;
  bool invert_;
  bool cuts_at_spaces_;
  bool is_local_;
};

}  // namespace signalbox::tokenizer
