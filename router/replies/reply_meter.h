#pragma once
// Times of a reply from its bytes as they come: when the first token came, how long one took. Looks
// at where events begin and at the usage at the end, and keeps nothing else.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::replies {

/// One a reply. Time is a parameter.
class ReplyMeter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Times {
    std::optional<double> ttft_ms;  // of a stream: to its first event
    /// Of a stream: of each event after the first, or each token where the usage says how many.
    /// Else: the whole time by the number of tokens that the usage says.
    std::optional<double> tpot_ms;
    // As the usage says.
    std::optional<uint64_t> prompt_tokens, cached_tokens, completion_tokens;
  };

  /// `started` when the request went out; `events`: the reply is an event stream.
  ReplyMeter(TimePoint started, bool events) : started_(started), last_(started), events_(events) {}

  void feed(std::string_view bytes, TimePoint now);
  /// That have begun.
  size_t events() const { return count_; }
  /// Once the whole reply has come.
  Times times() const;

 private:
  std::optional<uint64_t> count_of(std::string_view member) const;

  TimePoint started_, first_{}, last_;
  bool events_;
  size_t count_ = 0;       // events
  size_t line_bytes_ = 0;  // of the line that has begun, as far as it may be "data:"
  std::string tail_;       // the last bytes, which hold the usage
};

}  // namespace signalbox::replies
