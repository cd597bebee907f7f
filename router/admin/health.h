#pragma once
// For those who watch the daemon: GET /health says that it lives, GET /ready that it takes
// requests.

#include <atomic>

#include "router/gateway/routes.h"

namespace signalbox::admin {

/// `ready` outlives the routes.
std::vector<gateway::Route> health_routes(const std::atomic<bool>& ready);

}  // namespace signalbox::admin
