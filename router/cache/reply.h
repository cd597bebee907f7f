#pragma once
// Converts replies for the cache: streams to whole chat completions, and these back to streams.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "router/dialects/call_numbers.h"

namespace signalbox::cache {

/// Checks that a body is a chat completion that ended normally: every choice stopped by itself or
/// calls tools. kInvalid gives the reason if not; a reply cut at max_tokens is an example.
Result<void> check_keepable(std::string_view body);

/// The same for a message of Anthropic's API or a response of OpenAI's, whole or as the events of a
/// stream.
Result<void> check_native(std::string_view body, bool is_stream);

/// Assembles chat completion chunks, as server-sent events cut anywhere, into one completion.
class EventAssembler {
 public:
  /// `bytes_max` limits all texts together.
  explicit EventAssembler(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// Errors: kTooLarge; kInvalid if the parts cannot be assembled without loss, for example log
  /// probabilities or unknown members. Do not call it after an error.
  Result<void> push(std::string_view bytes);
  /// Returns the completion, which check_keepable() accepts. kInvalid if the stream had no end.
  Result<std::string> finish();

 private:
  struct Call {
    std::string id, type, name, arguments;
  };
  struct Choice {
    std::map<std::string, std::string, std::less<>> texts;  // content, refusal and the like
    std::map<size_t, Call> calls;
    dialects::CallNumbers numbers;
    std::optional<Call> function;
    std::string finish_reason;
  };

  Result<void> line(std::string_view line);
  Result<void> event(const json::Value& chunk);
  Result<void> choice(const json::Value& choice);
  Result<void> delta(const json::Value& delta, bool is_last, Choice& into);
  Result<void> call(const json::Value& call, Call& into);
  Result<void> function(const json::Value& function, Call& into);
  Result<void> append(std::string& to, const json::Value& text);
  Result<void> append_text(std::string& to, std::string_view text);

  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
  std::string rest_;                                      // an incomplete line
  std::map<std::string, std::string, std::less<>> head_;  // members of the first chunk, as JSON
  std::map<int64_t, Choice> choices_;
  std::string usage_;  // JSON; "": none has arrived
  bool done_ = false;
};

/// Converts a cached completion to the events of a stream, up to [DONE]. With `with_usage`, one
/// event carries the usage if the completion has it.
std::string events_of(const json::Value& completion, bool with_usage);

}  // namespace signalbox::cache
