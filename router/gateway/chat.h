#pragma once
// POST /v1/chat/completions: read, understand, decide, and answer or forward. The same for an API
// in front of it, whose request is translated before and whose reply behind.

#include <string_view>

#include "router/gateway/forward.h"
#include "router/gateway/routes.h"

namespace signalbox::gateway {

Route chat_route(const GatewayContext& services);

/// POST to `path`, which is static, by way of the surface, which outlives the route.
Route dialect_route(std::string_view path, const dialects::Dialect& surface,
                    const GatewayContext& services);

}  // namespace signalbox::gateway
