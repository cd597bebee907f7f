#pragma once
// Splitters with single-character delimiters: WhitespaceSplit, Digits, Punctuation and
// CharDelimiterSplit of tokenizer.json. Also Whitespace and FixedLength, which have no delimiters.

#include <array>
#include <functional>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/split/delimiters.h"

namespace signalbox::tokenizer {

class CharSplitter final : public Splitter {
 public:
  using Predicate = std::function<bool(char32_t)>;

  /// If the space or U+2581 is a delimiter, no visible ASCII character may be one.
  CharSplitter(Predicate is_delimiter, Behavior behavior);

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  // If a lone space is a delimiter, its neighbours are not. If it is not a delimiter, splitting
  // there changes no delimiter.
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

/// FixedLength: words of a fixed number of code points; the last may be shorter.
class LengthSplitter final : public Splitter {
 public:
  /// Requires code_points > 0.
  explicit LengthSplitter(int64_t code_points) : code_points_(code_points) {}

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;

 private:
  int64_t code_points_;
};

}  // namespace signalbox::tokenizer
