#pragma once
// The two parts of Metaspace of tokenizer.json: replace spaces by a visible mark that begins words,
// then split before each mark. The first part with a space as its mark is ByteLevel's
// add_prefix_space.

#include <string>

#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

class SpaceMarker final : public Rewriter {
 public:
  /// The words to which a mark is prepended if they do not begin with one.
  enum class Prepend : uint8_t {
    kAlways,
    kFirst,  // only the word at the very beginning of the original text
    kNever,
  };

  /// `mark` is one code point in UTF-8.
  SpaceMarker(std::string mark, Prepend prepend) : mark_(std::move(mark)), prepend_(prepend) {}

  void rewrite(const TextView& in, std::span<const Span> words, Normalized& out,
               std::vector<Span>& rewritten) const override;
  // A text that begins with a lone space gets no additional mark, provided that the space still has
  // that form.
  bool is_local(SpaceForm form) const override {
    return mark_ == text_of(SpaceForm::kMark) ||
           (mark_ == text_of(SpaceForm::kSpace) && form == SpaceForm::kSpace);
  }
  SpaceForm after(SpaceForm form) const override {
    return mark_ == text_of(SpaceForm::kMark) ? SpaceForm::kMark : form;
  }

 private:
  bool needs_mark(const TextView& in, Span word) const;

  std::string mark_;
  Prepend prepend_;
};

/// Splits before each mark.
class MarkSplitter final : public Splitter {
 public:
  explicit MarkSplitter(std::string mark) : mark_(std::move(mark)) {}

  void split(std::string_view text, Span word, std::vector<Span>& words) const override;
  bool is_local(SpaceForm) const override { return true; }
  bool cuts_at_spaces(SpaceForm form) const override { return mark_ == text_of(form); }

 private:
  std::string mark_;
};

}  // namespace signalbox::tokenizer
