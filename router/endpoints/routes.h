#pragma once
// All routes of this room. The router's own models answer some of them.

#include <vector>

#include "router/gateway/gateway_context.h"
#include "router/http/routes.h"
#include "router/serving/serving_state.h"

namespace signalbox::endpoints {

/// `state` and `pool`, whose threads run the router's own models, must outlive the routes.
std::vector<http::Route> routes(const gateway::GatewayContext& context,
                                const serving::ServingState& state, http::ThreadPool& pool);

}  // namespace signalbox::endpoints
