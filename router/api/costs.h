#pragma once
// GET /api/v1/costs of the management listener: what models have cost since the start, by model and
// decision, and what the same traffic would have cost on the default model alone.

#include "router/api/management.h"
#include "router/observe/metrics.h"

namespace signalbox::api {

/// For those who may: metrics.read. All outlive the route.
Route costs_route(const observe::Metrics& metrics, const router::Live& live, Compute& pool);

}  // namespace signalbox::api
