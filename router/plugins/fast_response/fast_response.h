#pragma once
// A decision's own answer as OpenAI's clients expect one, whole or as a stream of events. No model
// is asked: `model` is "router", usage is zero.

#include <cstdint>
#include <string>
#include <string_view>

#include "router/request/chat_request.h"

namespace signalbox::plugins {

/// The body of the reply, as application/json or, where the client asks for a stream, as
/// text/event-stream up to [DONE]; with an event for the usage if stream_options ask for it, and as
/// many equal choices as `n` asks for, 128 at most. `id` is the completion's, `created` in seconds
/// since 1970.
std::string fast_response(std::string_view message, const request::ChatRequest& request,
                          std::string_view id, int64_t created);

}  // namespace signalbox::plugins
