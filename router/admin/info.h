#pragma once
// What the router is made of: GET /info/models, /info/classifier and /startup-status.

#include <atomic>

#include "router/admin/classifiers.h"
#include "router/observe/metrics.h"

namespace signalbox::admin {

/// /startup-status answers at any time and nobody needs a token for it. All outlive the
/// routes.
std::vector<gateway::Route> info_routes(const serving::CurrentState& live,
                                        const std::atomic<bool>& ready, gateway::ThreadPool& pool,
                                        observe::Metrics& metrics);

}  // namespace signalbox::admin
