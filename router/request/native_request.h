#pragma once
// A request in the API of its client, if that is not the API of chat completions. Signals read the
// request as a chat completion; a server of the client's API gets these bytes with the plan's
// edits.

#include <cstdint>

#include "base/json.h"
#include "router/request/request_text.h"

namespace signalbox::request {

enum class Api : uint8_t { kMessages, kResponses };

struct NativeRequest {
  Api api;
  json::Document document;
  bool is_compacted = false;  // later conversations have what its server makes of it
};

/// Visits every text that may be masked: like visit_message_text() for the messages or items, the
/// system prompt and the variables of a stored prompt, and like visit_text() for definitions.
/// Calls and results of the server's own tools are included. Thoughts are left out, because the
/// server accepts them only unchanged.
void visit_native_text(const NativeRequest& request, const VisitText& visit);

/// True if the answer to a native request depends on more than the request: on a conversation, a
/// container or a task that its server has, or on tools of another server.
bool has_state(const json::Value& request);
/// True if only its server knows all of the conversation: has_state(), or it refers to a response,
/// a prompt or an item that the server has stored.
bool is_bound_to_server(const json::Value& request);

}  // namespace signalbox::request
