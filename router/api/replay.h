#pragma once
// GET /v1/router_replay and /v1/router_replay/ID of the management listener: the last requests and
// what was decided.

#include <vector>

#include "router/api/compute.h"
#include "router/api/management.h"
#include "router/observe/replay.h"

namespace signalbox::api {

/// All outlive the routes.
std::vector<Route> replay_routes(observe::Replay& replay, const router::Live& live, Compute& pool);

}  // namespace signalbox::api
