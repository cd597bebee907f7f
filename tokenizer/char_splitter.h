#pragma once
// Splitters whose delimiters are single characters: WhitespaceSplit, Digits, Punctuation and
// CharDelimiterSplit of tokenizer.json. And Whitespace and FixedLength, which have none.

#include <array>
#include <functional>

#include "tokenizer/delimiters.h"
#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

class CharSplitter final : public Splitter {
 public:
  using Predicate = std::function<bool(char32_t)>;

  /// Precondition: where the space or U+2581 is a delimiter, no mark of ASCII is.
  CharSplitter(Predicate is_delimiter, Behavior behavior);

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  // A lone space that is a delimiter has none beside it. One that is none changes no delimiter.
  bool is_local(SpaceForm form) const override {
    return cuts_at_spaces(form) || !is_delimiter_(form == SpaceForm::kSpace ? ' ' : 0x2581);
  }
  bool cuts_at_spaces(SpaceForm form) const override {
    return is_delimiter_(form == SpaceForm::kSpace ? ' ' : 0x2581) &&
           behavior_ != Behavior::kMergedWithPrevious;
  }

 private:
  Predicate is_delimiter_;
  Behavior behavior_;
  std::array<bool, 128> ascii_;
};

/// Whitespace: \w+|[^\w\s]+
class WordSplitter final : public Splitter {
 public:
  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm form) const override { return cuts_at_spaces(form); }
  bool cuts_at_spaces(SpaceForm form) const override { return form == SpaceForm::kSpace; }
};

/// FixedLength: so many code points, and what is left at the end.
class LengthSplitter final : public Splitter {
 public:
  /// Precondition: code_points > 0.
  explicit LengthSplitter(int64_t code_points) : code_points_(code_points) {}

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;

 private:
  int64_t code_points_;
};

}  // namespace signalbox::tokenizer
