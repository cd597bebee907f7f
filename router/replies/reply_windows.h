#pragma once
// Cuts a growing text into finished sentences, so that they can be checked while it is written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// For one choice of a reply. Memory is bounded by the text that has not been taken plus
/// kBeforeBytesMax of the text that has.
class ReplyText {
 public:
  static constexpr size_t kWindowBytesMax = size_t{2} << 10;
  static constexpr size_t kBeforeBytesMax = size_t{2} << 10;

  explicit ReplyText(int64_t choice) : choice_(choice) {}

  void push(std::string_view text);
  /// Returns the finished sentences, which are those that are followed by other text. A sentence
  /// with a number that announces a list is finished when the list is. Returns at most 2 *
  /// kWindowBytesMax; text that continues for kWindowBytesMax without an end is cut. `all` means
  /// that no more text follows.
  std::optional<ReplyWindow> take(bool all);
  /// True if the text seems to have reached the end of a sentence that take() still waits for.
  bool pauses() const;
  /// True if there is text that take() has not returned.
  bool has_rest() const { return taken_ < pending_.size(); }
  /// True if the text so far ends within a word.
  bool in_word() const { return in_word_; }

 private:
  std::string_view pending() const { return std::string_view(pending_).substr(taken_); }
  size_t finished_bytes() const;
  size_t cut_bytes() const;
  void remember(std::string_view taken);

  const int64_t choice_;
  std::string pending_;  // taken up to taken_
  size_t taken_ = 0;
  std::string before_;           // the end of the taken text
  bool code_ = false;            // pending_ begins within a block of code
  bool before_in_code_ = false;  // before_ begins within one too
  bool in_word_ = false;
  uint64_t points_ = 0;  // code points taken
};

}  // namespace signalbox::replies
