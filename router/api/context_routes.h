#pragma once
// /v1/contexts: clients store messages that their requests then refer to. docs/context.md has the
// shapes.

#include <vector>

#include "router/api/compute.h"
#include "router/api/routes.h"
#include "router/config/config.h"
#include "router/context/store.h"

namespace signalbox::api {

/// All outlive the routes. Each client sees its own only: see owner_of().
std::vector<Route> context_routes(context::Store& store, const config::Config& config,
                                  Compute& pool);

}  // namespace signalbox::api
