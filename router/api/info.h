#pragma once
// What the router is made of: GET /info/models, /info/classifier and /startup-status.

#include <atomic>

#include "router/api/classifiers.h"
#include "router/observe/metrics.h"

namespace signalbox::api {

/// /startup-status answers at any time and nobody needs a token for it. All outlive the
/// routes.
std::vector<Route> info_routes(const router::Live& live, const std::atomic<bool>& ready,
                               Compute& pool, observe::Metrics& metrics);

}  // namespace signalbox::api
