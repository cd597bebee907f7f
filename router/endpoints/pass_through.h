#pragma once
// The routes of the endpoints in table.h. A request goes to the server of the model that it names,
// within what the client's key, limits and budgets allow.

#include <map>
#include <string>
#include <vector>

#include "router/gateway/gateway_context.h"
#include "router/http/routes.h"

namespace signalbox::endpoints {

/// By path: the handlers of the router's own models, for requests that name none of the configured
/// models.
using OwnHandlers = std::map<std::string, http::Handler, std::less<>>;

std::vector<http::Route> pass_through_routes(const gateway::GatewayContext& context,
                                             const OwnHandlers& own);

}  // namespace signalbox::endpoints
