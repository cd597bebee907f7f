#pragma once
// What is stored of responses: GET and DELETE /v1/responses/{id}, GET .../input_items.

#include <vector>

#include "router/config/config.h"
#include "router/dialects/response_store.h"
#include "router/gateway/routes.h"

namespace signalbox::gateway {

/// Both outlive the routes. Each client sees its own only: see owner_of().
std::vector<Route> response_routes(dialects::ResponseStore& store, const config::Config& config);

/// The limits that a configuration asks for.
dialects::ResponseStore::Limits limits_of(const config::ResponseApi& api);

}  // namespace signalbox::gateway
