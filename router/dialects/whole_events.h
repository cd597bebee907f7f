#pragma once
// A message or a response that came whole, as the events of a stream. Some servers answer whole
// although the request wants a stream, and clients then read no answer.

#include <string>

#include "base/json.h"

namespace signalbox::dialects {

/// Each text, thought and input of a tool is one delta, and every other block comes whole in the
/// event that begins it. "": it is not a message of Anthropic's API.
std::string message_events(const json::Value& message);

/// The same for a response of OpenAI's API that has ended.
std::string response_events(const json::Value& response);

}  // namespace signalbox::dialects
