#pragma once
// Members of messages that the router writes when it translates a chat, and that some servers
// refuse. Others use or ignore them.

#include <string>
#include <string_view>

#include "router/config/providers.h"

namespace signalbox::plugins {

/// True if the model's servers refuse a message with a member that they do not know.
bool refuses_members(const config::Model& model);

/// Returns the chat without an assistant's `reasoning_content` and without the `extra_content` of
/// calls; "" if it has none.
std::string without_refused_members(std::string_view chat);

}  // namespace signalbox::plugins
