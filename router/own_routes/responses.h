#pragma once
// Stored responses: GET and DELETE /v1/responses/{id}, GET .../input_items, POST .../cancel.

#include <vector>

#include "router/config/config.h"
#include "router/dialects/response_store.h"
#include "router/http/routes.h"
#include "router/http/thread_pool.h"

namespace signalbox::own_routes {

/// The arguments outlive the routes. `storage` waits for responses that routers share. A client
/// sees only its own responses: see owner_of().
std::vector<http::Route> response_routes(dialects::ResponseStore& store,
                                         const config::Config& config, http::ThreadPool& storage);

/// The limits of the store in a configuration.
dialects::ResponseStore::Limits limits_of(const config::ResponseApi& api);

}  // namespace signalbox::own_routes
