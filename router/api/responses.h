#pragma once
// What is stored of responses: GET and DELETE /v1/responses/{id}, GET .../input_items.

#include <vector>

#include "router/api/routes.h"
#include "router/config/config.h"
#include "router/surfaces/response_store.h"

namespace signalbox::api {

/// Both outlive the routes. Each client sees its own only: see owner_of().
std::vector<Route> response_routes(surfaces::ResponseStore& store, const config::Config& config);

/// The limits that a configuration asks for.
surfaces::ResponseStore::Limits limits_of(const config::ResponseApi& api);

}  // namespace signalbox::api
