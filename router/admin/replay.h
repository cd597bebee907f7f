#pragma once
// GET /v1/router_replay and /v1/router_replay/ID of the management listener: the last requests and
// what was decided.

#include <vector>

#include "router/admin/management.h"
#include "router/gateway/thread_pool.h"
#include "router/observe/replay.h"

namespace signalbox::admin {

/// All outlive the routes.
std::vector<gateway::Route> replay_routes(observe::Replay& replay,
                                          const serving::CurrentState& live,
                                          gateway::ThreadPool& pool);

}  // namespace signalbox::admin
