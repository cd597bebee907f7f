#pragma once
// Measures a reply's times from its bytes as they arrive: the time to the first token and the time
// for each token. Beside that it reads where events begin, the usage at the end and the reply's
// origin, and stores nothing else.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/replies/reply_origin.h"

namespace signalbox::replies {

/// One for each reply. Time is a parameter.
class ReplyMeter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Times {
    std::optional<double> ttft_ms;  // for a stream: to its first event
    /// For a stream: the time for each event after the first or, if the usage gives the number of
    /// tokens, for each token. Otherwise: the total time divided by the number of tokens in the
    /// usage.
    std::optional<double> tpot_ms;
    // From the usage.
    std::optional<uint64_t> prompt_tokens, cached_tokens, written_tokens, completion_tokens,
        reasoning_tokens;
    ReplyOrigin origin;
    bool failed = false;  // a stream that the server ended with an event that reports an error
  };

  /// `started` is when the request was sent; `events` means that the reply is an event stream. It
  /// may be a chat completion, a message of Anthropic's API or a response of OpenAI's.
  ReplyMeter(TimePoint started, bool events)
      : started_(started), last_(started), events_(events), origin_(events) {}

  void feed(std::string_view bytes, TimePoint now);
  /// The number of events that have begun.
  size_t events() const { return count_; }
  /// Call it once the whole reply has arrived.
  Times times() const;

 private:
  TimePoint started_, first_{}, last_;
  bool events_;
  size_t count_ = 0;       // events that have begun
  size_t line_bytes_ = 0;  // bytes of the current line that match "data:"
  std::string head_;       // the first bytes, which hold the usage of a message's prompt
  std::string tail_;       // the last bytes, which hold the usage
  OriginReader origin_;
};

}  // namespace signalbox::replies
