#pragma once
// The answer in a reply, as one text that can be compared with another.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/request/native_request.h"

namespace signalbox::shadow {

/// A reply as it came. `api` is that of its events or members; nullopt: chat completions.
struct Reply {
  std::string bytes;
  bool is_stream = false;
  std::optional<request::Api> api = std::nullopt;
};

/// Reads the first choice of a completion, or the message or response: its content, then a line
/// for each call of a tool ("NAME(ARGUMENTS)"). Thoughts are left out. Errors: kUpstream for a body
/// that is not a reply or has no answer; kTooLarge for a text of more than `bytes_max`.
Result<std::string> read_answer(Reply reply, size_t bytes_max);

/// The content alone, of an answer that calls no tool; "" for another.
Result<std::string> read_final_text(Reply reply, size_t bytes_max);

/// At most the first `bytes` of a text, without a part of a character.
std::string_view beginning_of(std::string_view text, size_t bytes);

}  // namespace signalbox::shadow
