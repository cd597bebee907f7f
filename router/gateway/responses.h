#pragma once
// Stored responses: GET and DELETE /v1/responses/{id}, GET .../input_items.

#include <vector>

#include "router/config/config.h"
#include "router/dialects/response_store.h"
#include "router/http/routes.h"

namespace signalbox::gateway {

/// Both arguments outlive the routes. A client sees only its own responses: see owner_of().
std::vector<http::Route> response_routes(dialects::ResponseStore& store,
                                         const config::Config& config);

/// The limits of the store in a configuration.
dialects::ResponseStore::Limits limits_of(const config::ResponseApi& api);

}  // namespace signalbox::gateway
