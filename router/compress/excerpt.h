#pragma once
// Shortens the result of a tool to the passages that matter for a question.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/compress/passages.h"

namespace signalbox::compress {

/// An estimate, because no tokenizer is known here. Signals of type context use the same one.
inline constexpr uint64_t kBytesPerToken = 4;

/// Stands where text was left out.
inline constexpr std::string_view kLeftOutMark = "\n[... text left out ...]\n";

/// A text and its shorter forms. In a text that is JSON, only long strings are shortened; keys,
/// numbers and the structure stay. JSON inside a long string is treated in the same way.
class Excerpt {
 public:
  /// `text` and `question` must be below 2 GiB, and `text` must outlive the object. `bytes_max` is
  /// the smallest size that will be requested.
  Excerpt(std::string_view text, std::string_view question, size_t bytes_max);

  /// Returns the share of the question's words that occur in the passages, 0 to 1.
  double relevance() const { return passages_->relevance(); }
  /// Returns about `bytes_max` bytes of the text. JSON with little in long strings comes out
  /// larger, because those strings always get a quarter of `bytes_max`. Never returns more than the
  /// text has.
  std::string shortened(size_t bytes_max) const;

 private:
  std::string_view text_;
  std::vector<std::string> pieces_;  // what can be shortened, in the order of the text
  size_t piece_bytes_ = 0;
  std::unique_ptr<const Passages> passages_;
};

}  // namespace signalbox::compress
