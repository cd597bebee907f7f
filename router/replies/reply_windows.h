#pragma once
// A text that grows, cut into sentences that are over, for those who check it while it is written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// Of one choice of a reply. Memory is bounded by the texts that are pushed: what has not been
/// taken, and kBeforeBytesMax of what has.
class ReplyText {
 public:
  static constexpr size_t kWindowBytesMax = size_t{2} << 10;
  static constexpr size_t kBeforeBytesMax = size_t{2} << 10;

  explicit ReplyText(int64_t choice) : choice_(choice) {}

  void push(std::string_view text);
  /// The sentences that are over: something follows them. A number that announces a list is over
  /// when the list is. At most 2 * kWindowBytesMax; what goes on for kWindowBytesMax without an end
  /// is cut. `all`: nothing follows any more.
  std::optional<ReplyWindow> take(bool all);
  /// Whether the text has come to what looks like the end of a sentence that take() still waits
  /// for.
  bool pauses() const;
  /// Whether the text so far ends within a word.
  bool in_word() const { return in_word_; }

 private:
  std::string_view pending() const { return std::string_view(pending_).substr(taken_); }
  size_t ready() const;
  size_t cut() const;
  void remember(std::string_view taken);

  const int64_t choice_;
  std::string pending_;  // up to taken_ it has been
  size_t taken_ = 0;
  std::string before_;           // the end of what was
  bool code_ = false;            // pending_ begins within a block of code
  bool before_in_code_ = false;  // so does before_
  bool in_word_ = false;
  uint64_t points_ = 0;  // code points taken
};

}  // namespace signalbox::replies
