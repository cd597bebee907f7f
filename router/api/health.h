#pragma once
// For those who watch the daemon: GET /health says that it lives, GET /ready that it takes
// requests.

#include <atomic>

#include "router/api/routes.h"

namespace signalbox::api {

/// `ready` outlives the routes.
std::vector<Route> health_routes(const std::atomic<bool>& ready);

}  // namespace signalbox::api
