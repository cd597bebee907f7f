#pragma once
// The earlier calls of tools in a conversation, and their removal.

#include <string>

namespace signalbox::plugins {

/// Removes calls and results from the messages of a chat completion request: messages with the role
/// "tool" or "function", the calls of the assistant, and messages that have nothing else. Other
/// messages keep their bytes; without calls and results the whole body does.
std::string strip_tool_history(std::string body);

}  // namespace signalbox::plugins
