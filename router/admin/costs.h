#pragma once
// GET /api/v1/costs of the management listener: what models have cost since the start, by model and
// decision, and what the same traffic would have cost on the default model alone.

#include "router/admin/management.h"
#include "router/observe/metrics.h"

namespace signalbox::admin {

/// For those who may: metrics.read. All outlive the route.
gateway::Route costs_route(const observe::Metrics& metrics, const serving::CurrentState& live,
                           gateway::ThreadPool& pool);

}  // namespace signalbox::admin
