#pragma once
// What the router is made of: GET /info/models, /info/classifier and /startup-status.

#include <atomic>

#include "router/api/classifiers.h"

namespace signalbox::api {

/// /startup-status answers at any time and nobody needs a token for it. All three outlive the
/// routes.
std::vector<Route> info_routes(const router::Live& live, const std::atomic<bool>& ready,
                               Compute& pool);

}  // namespace signalbox::api
