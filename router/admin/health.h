#pragma once
// For programs that monitor the daemon: GET /health succeeds while it runs, GET /ready while it
// accepts requests.

#include <atomic>

#include "router/http/routes.h"

namespace signalbox::admin {

/// `ready` must outlive the routes.
std::vector<http::Route> health_routes(const std::atomic<bool>& ready);

}  // namespace signalbox::admin
