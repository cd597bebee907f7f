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
};

/// Visits every text that the client has written and that may be masked: like visit_message_text()
/// for the messages or items, the system prompt and the variables of a stored prompt. Texts
/// that a server of the API has made, such as thoughts with their signature and results of its own
/// tools, are left out, because the server accepts them only unchanged.
void visit_native_text(const NativeRequest& request, const VisitText& visit);

}  // namespace signalbox::request
