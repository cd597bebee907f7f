#pragma once
// Normalizers for the two ends of a text: Strip and Prepend.

#include <string>
#include <string_view>

#include "tokenizer/normalizer.h"

namespace signalbox::tokenizer {

/// Removes white space at the ends.
class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;

 private:
  Span kept(std::string_view text) const;

  bool left_;
  bool right_;
};

/// Prepends its content to a text that is not empty. The content's source is the first character.
class Prepend final : public Normalizer {
 public:
  /// `content` must not be empty.
  explicit Prepend(std::string_view content) : content_(content) {}

  bool keeps(std::string_view text) const override { return text.empty(); }
  void normalize(const TextView& in, Normalized& out) const override;

 private:
  std::string content_;
};

}  // namespace signalbox::tokenizer
