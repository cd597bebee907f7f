#pragma once
// Switches a model's reasoning on or off with the request members that its family understands.

#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/request/native_request.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// Families, after the Semantic Router:
/// - chat_template_kwargs: chat_template_kwargs[parameter] is true or false.
/// - reasoning_effort: `parameter` is the effort, at the top level for the servers of OpenAI and
///   OpenRouter, in chat_template_kwargs for all others (vLLM).
/// - top_level_reasoning_effort: `parameter` is the effort, at the top level.
/// DeepSeek's own server is handled in one way for every family: `thinking` is {"type": "enabled"}
/// or "disabled", reasoning_effort is set if reasoning is on, and chat_template_kwargs are removed
/// because the server rejects them. Other servers of Anthropic's API get the effort and nothing
/// else. An empty `effort`, which only servers of that API may get, is left out.
///
/// If reasoning is off, an effort that the client has set stays. Without one it is "low", except at
/// the servers of OpenAI and OpenRouter, where it is left out. A `reasoning_effort` of the client
/// that does not belong at the top level is removed; other members of chat_template_kwargs stay.
/// A family with activation_parameter or effort_flags has several switches in chat_template_kwargs,
/// and one with `disabled` has an effort for no reasoning, which replaces the client's. Switches
/// that are all to be removed add no object.
/// `parameter` is one key, even with dots in it. `body` edits the request's top level; nested edits
/// are appended to `edits`.
void set_reasoning(const config::ReasoningFamily& family, const config::Model& model, bool on,
                   std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits);

/// The same for a request in its client's own API, which has one form for all models. On: the
/// effort is set unless it is empty, and `thinking` is no longer disabled. Off: `thinking` is
/// disabled, together with the context management that needs it; the effort of a response stays.
void set_reasoning(request::Api api, bool on, std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits);

}  // namespace signalbox::plugins
