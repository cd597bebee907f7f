#pragma once
// Replies as they are kept: chat completions whole, also those that streamed, and as streams again.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::cache {

/// Whether a body is a chat completion that ended well: every choice stopped by itself or calls
/// tools. kInvalid says what is wrong with it; a reply that was cut at max_tokens is one of those.
Result<void> check_keepable(std::string_view body);

/// Chat completion chunks, as server-sent events in whatever pieces, become one completion.
class EventAssembler {
 public:
  /// `bytes_max`: of all texts together.
  explicit EventAssembler(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// Errors: kTooLarge; kInvalid for what it cannot put together without losing something, such as
  /// log probabilities or members that it does not know. After one, no more.
  Result<void> push(std::string_view bytes);
  /// The completion, which is keepable. kInvalid when the stream had no end.
  Result<std::string> finish();

 private:
  struct Call {
    std::string id, type, name, arguments;
  };
  struct Choice {
    std::map<std::string, std::string, std::less<>> texts;  // content, refusal and the like
    std::map<int64_t, Call> calls;
    std::optional<Call> function;
    std::string finish_reason;
  };

  Result<void> line(std::string_view line);
  Result<void> event(const json::Value& chunk);
  Result<void> choice(const json::Value& choice);
  Result<void> delta(const json::Value& delta, Choice& into);
  Result<void> call(const json::Value& call, Call& into);
  Result<void> append(std::string& to, const json::Value& text);

  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
  std::string rest_;                                      // the beginning of a line
  std::map<std::string, std::string, std::less<>> head_;  // members of the first chunk, as JSON
  std::map<int64_t, Choice> choices_;
  std::string usage_;  // JSON; "": none came
  bool done_ = false;
};

/// A keepable completion as the events of a stream, up to [DONE]; with one for the usage where
/// `with_usage`, and the completion has it.
std::string events_of(const json::Value& completion, bool with_usage);

}  // namespace signalbox::cache
