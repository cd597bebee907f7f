#pragma once
// The routes of the endpoints in table.h. A request goes to the server of the model that it names,
// within what the client's key, limits and budgets allow.

#include <map>
#include <string_view>
#include <vector>

#include "router/admin/client_handler.h"
#include "router/gateway/gateway_context.h"
#include "router/http/routes.h"

namespace signalbox::endpoints {

/// The router's own models, which answer requests that name none of the configured ones.
struct OwnModels {
  const serving::ServingState& state;
  http::ThreadPool& pool;                                     // its threads run the models
  std::map<std::string_view, admin::ClientHandler> handlers;  // by path
};

/// The objects that `own` refers to must outlive the routes.
std::vector<http::Route> pass_through_routes(const gateway::GatewayContext& context,
                                             const OwnModels& own);

}  // namespace signalbox::endpoints
