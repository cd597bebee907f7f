#pragma once
// Adds a decision's system prompt to a request.

#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/config/config.h"
#include "router/request/native_request.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// `replace`: the prompt replaces the content of the first message with role system or developer.
/// `insert`: the prompt precedes that content, separated by a blank line. If there is no such
/// message, both modes insert a new one at the front. Precondition: `messages` is the array of a
/// parsed ChatRequest.
void add_system_prompt(const config::SystemPromptPlugin& plugin, json::Value messages,
                       std::vector<splice::Edit>& edits);

/// The same for a request in its client's own API, where the prompt is the member `system` or
/// `instructions`. In the Responses API, a system or developer message may take its place. `body`
/// edits the request's top level.
void add_system_prompt(const config::SystemPromptPlugin& plugin,
                       const request::NativeRequest& request, splice::ObjectEditor& body,
                       std::vector<splice::Edit>& edits);

/// Returns the plugin that adds the text behind a decision's own prompt, which may be null.
config::SystemPromptPlugin prompt_with(const config::SystemPromptPlugin* own,
                                       std::string_view text);

}  // namespace signalbox::plugins
