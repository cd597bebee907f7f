#pragma once
// What a client may ask for: parameters that are taken out of its request, and bounds on what it
// may spend.

#include <cstdint>
#include <optional>

#include "router/config/config.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// blocked_params go; with strip_unknown so does every member that OpenAI's chat completions do not
/// have, DeepSeek's `thinking` excepted for its own server. `n` becomes max_n at most, max_tokens
/// and max_completion_tokens max_tokens_limit at most; a value that is not a number of tokens
/// counts as over the bound, since servers differ in what they make of it. `model` and `messages`
/// stay whatever the lists say.
///
/// `tokens` is a bound of the request's own, by its difficulty: the lower of both holds. It is
/// asked for where the client names none (max_completion_tokens at OpenAI's own servers, max_tokens
/// elsewhere): a limit that binds only those who ask for one would bind nobody.
///
/// `plugin` may be null. First of all changes to `body`, so that what the router itself sets comes
/// after.
void limit_params(const config::RequestParamsPlugin* plugin, std::optional<uint32_t> tokens,
                  const config::Model& model, json::Value request, splice::ObjectEditor& body);

}  // namespace signalbox::plugins
