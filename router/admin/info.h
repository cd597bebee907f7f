#pragma once
// The router's models: GET /info/models, /info/classifier and /startup-status.

#include <atomic>

#include "router/admin/classifiers.h"
#include "router/admin/health.h"
#include "router/observe/metrics.h"

namespace signalbox::admin {

/// /startup-status is available at any time and requires no token. All arguments must outlive the
/// routes.
std::vector<http::Route> info_routes(const serving::CurrentState& current,
                                     const std::atomic<Stage>& stage, http::ThreadPool& pool,
                                     observe::Metrics& metrics);

}  // namespace signalbox::admin
