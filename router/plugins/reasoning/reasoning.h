#pragma once
// Switches a model's reasoning on or off, in the way its family wants it said.

#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// Families, after upstream:
/// - chat_template_kwargs: chat_template_kwargs[parameter] is true or false.
/// - reasoning_effort: `parameter` is the effort, at the top level for the servers of OpenAI and
///   OpenRouter, in chat_template_kwargs for all others (vLLM).
/// - top_level_reasoning_effort: `parameter` is the effort, at the top level.
/// DeepSeek's own server has one way whatever the family: `thinking` is {"type": "enabled"} or
/// "disabled", with a reasoning_effort when it is on, and chat_template_kwargs go, which it
/// refuses.
///
/// When reasoning is off, an effort that the client asked for stays; without one it is "low",
/// except at the servers of OpenAI and OpenRouter, where nothing is said. A `reasoning_effort` of
/// the client that is not to be sent so is removed; other members of chat_template_kwargs stay. A
/// parameter is one key, dots included. `body` edits the request's top level; nested edits go
/// straight to `edits`.
void set_reasoning(const config::ReasoningFamily& family, const config::Model& model, bool on,
                   std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits);

}  // namespace signalbox::plugins
