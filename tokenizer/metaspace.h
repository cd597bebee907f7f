#pragma once
// The two halves of Metaspace of tokenizer.json: spaces become a visible mark, words begin with it,
// and are cut in front of it. The first half with a space for a mark is ByteLevel's
// add_prefix_space.

#include <string>

#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

class SpaceMarker final : public Rewriter {
 public:
  /// Which words get a mark in front when they begin with none.
  enum class Prepend : uint8_t {
    kAlways,
    kFirst,  // those at the very beginning of the original text
    kNever,
  };

  /// `mark`: one code point, in UTF-8.
  SpaceMarker(std::string mark, Prepend prepend) : mark_(std::move(mark)), prepend_(prepend) {}

  void rewrite(const TextView& in, std::span<const Span> words, Normalized& out,
               std::vector<Span>& rewritten) const override;
  // What begins with a lone space gets no mark in front, if that is what it still looks like.
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

/// Cuts in front of each mark.
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
