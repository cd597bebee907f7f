#pragma once
// The Replace normalizer: each match of a pattern gives way to a text, which takes the source of
// the last character that it replaces. In the content nothing stands for a group.

#include <string>
#include <string_view>

#include "tokenizer/normalizer.h"
#include "tokenizer/unicode/regex.h"

namespace signalbox::tokenizer {

class ReplaceString final : public Normalizer {
 public:
  /// Precondition: pattern is not empty.
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
  /// Precondition: pattern matches nothing that is empty.
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
