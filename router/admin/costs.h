#pragma once
// GET /api/v1/costs of the management listener: the costs of models since the start, by model and
// decision, and the costs of the same traffic on the default model.

#include "router/admin/management.h"
#include "router/observe/metrics.h"

namespace signalbox::admin {

/// Requires the permission metrics.read. All arguments must outlive the route.
http::Route costs_route(const observe::Metrics& metrics, const serving::CurrentState& current,
                        http::ThreadPool& pool);

}  // namespace signalbox::admin
