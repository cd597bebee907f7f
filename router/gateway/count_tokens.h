#pragma once
// POST /v1/messages/count_tokens: what only a server of Anthropic's API knows of its models. No
// tokenizer of the models behind is known here, and a guess would be taken for a count, so that is
// who is asked, or nobody.

#include "router/gateway/forward.h"
#include "router/gateway/routes.h"

namespace signalbox::gateway {

/// The request goes on as it is, but for the model's name, where it names a model whose servers
/// speak that API. For a name that is decided on, a model with a pii_policy and other servers: 400,
/// with the reason.
Route count_tokens_route(const GatewayContext& services);

}  // namespace signalbox::gateway
