#pragma once
// Puts a decision's system prompt into a request.

#include <vector>

#include "base/json.h"
#include "router/config/config.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {

/// `replace`: the prompt takes the place of the content of the first message with role system or
/// developer. `insert`: it stands in front of that content, a blank line between. Without such a
/// message both put a new one at the front. Precondition: `messages` is the array of a parsed
/// ChatRequest.
void add_system_prompt(const config::SystemPromptPlugin& plugin, json::Value messages,
                       std::vector<splice::Edit>& edits);

}  // namespace signalbox::plugins
