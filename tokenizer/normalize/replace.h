#pragma once
// The Replace normalizer: replaces each match of a pattern by a text. The source of the new text is
// the last replaced character. The content is literal; it has no group references.

#include <string>
#include <string_view>

#include "tokenizer/normalizer.h"
#include "tokenizer/unicode/regex.h"

namespace signalbox::tokenizer {

class ReplaceString final : public Normalizer {
 public:
  /// `pattern` must not be empty.
  ReplaceString(std::string_view pattern, std::string_view content)
      : pattern_(pattern), content_(content) {}

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  bool is_local() const override;
  bool marks_spaces() const override;
  size_t growth() const override { return content_.size() / pattern_.size() + 1; }

 private:
  std::string pattern_;
  std::string content_;
};

class ReplaceRegex final : public Normalizer {
 public:
  /// `pattern` must not match the empty string.
  ReplaceRegex(Regex pattern, std::string_view content)
      : pattern_(std::move(pattern)), content_(content) {}

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  size_t growth() const override { return content_.size() + 1; }

 private:
  Regex pattern_;
  std::string content_;
};

}  // namespace signalbox::tokenizer
