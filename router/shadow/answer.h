#pragma once
// The answer in a chat completion, as one text that can be compared with another.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::shadow {

/// Reads the first choice of a completion, or of the events of a stream: its content, then a line
/// for each call of a tool ("NAME(ARGUMENTS)"). Thoughts are left out. Errors: kUpstream for a body
/// that is not a completion or has no answer; kTooLarge for a text of more than `bytes_max`.
Result<std::string> read_answer(std::string body, bool is_stream, size_t bytes_max);

/// The content alone, of an answer that calls no tool; "" for another.
Result<std::string> read_final_text(std::string body, bool is_stream, size_t bytes_max);

/// At most the first `bytes` of a text, without a part of a character.
std::string_view beginning_of(std::string_view text, size_t bytes);

}  // namespace signalbox::shadow
