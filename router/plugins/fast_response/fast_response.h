#pragma once
// Formats a decision's fixed reply as an OpenAI completion, complete or as an event stream. No
// model runs: `model` is "router" and the usage is zero.

#include <cstdint>
#include <string>
#include <string_view>

#include "router/request/chat_request.h"

namespace signalbox::plugins {

/// Returns the body of the reply: application/json or, if the client requests a stream,
/// text/event-stream up to [DONE], with a usage event if stream_options request it. The reply
/// repeats the message `n` times, at most 128. `id` is the completion's id, `created` is in seconds
/// since 1970.
std::string fast_response(std::string_view message, const request::ChatRequest& request,
                          std::string_view id, int64_t created);

}  // namespace signalbox::plugins
