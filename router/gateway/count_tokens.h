#pragma once
// POST /v1/messages/count_tokens. Only the model's server knows its tokenizer, and clients would
// take an estimate for a count, so the request goes to an Anthropic server or is refused.

#include "router/gateway/gateway_context.h"
#include "router/http/routes.h"

namespace signalbox::gateway {

/// Forwards the request, with the server's name of the model, if it names a model of an Anthropic
/// server. Answers 400 with the reason for an automatic name, for a model with a pii_policy, and
/// for other servers.
http::Route count_tokens_route(const GatewayContext& context);

}  // namespace signalbox::gateway
