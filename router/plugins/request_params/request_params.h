#pragma once
// Limits what a client may request: removes parameters and bounds token and choice counts.

#include <cstdint>
#include <optional>

#include "router/config/config.h"
#include "router/request/native_request.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// Removes blocked_params and, with strip_unknown, every member that is not part of OpenAI's chat
/// completions, except `thinking` for DeepSeek's own server. Limits `n` to max_n, and max_tokens
/// and max_completion_tokens to max_tokens_limit. A value that is not a valid number of tokens
/// counts as over the limit, because servers interpret it differently. `model` and `messages`
/// always stay.
///
/// `tokens` is a limit for this request, from its difficulty; the lower limit applies. If the
/// client sets no limit, the request gets one (max_completion_tokens where
/// takes_completion_tokens(), max_tokens elsewhere), because otherwise a client could avoid the
/// limit by leaving it out.
///
/// `plugin` may be null. Call this before all other changes to `body`, so that members that the
/// router sets are not removed.
void limit_params(const config::RequestParamsPlugin* plugin, std::optional<uint32_t> tokens,
                  const config::Model& model, json::Value request, splice::ObjectEditor& body);

/// The same for a request in its client's own API. A name of a chat completion in blocked_params
/// stands for the members of that API with the same effect; there is no `n`. Members that the
/// API requires always stay.
void limit_params(const config::RequestParamsPlugin* plugin, std::optional<uint32_t> tokens,
                  const request::NativeRequest& request, splice::ObjectEditor& body);

/// Renames max_tokens to max_completion_tokens where reasoning models refuse the former. Call it
/// after limit_params(), and only if the router has written the request, because a client's own
/// chat completion keeps the name that the client chose.
void name_token_bound(const config::Model& model, splice::ObjectEditor& body);

}  // namespace signalbox::plugins
