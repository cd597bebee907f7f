#pragma once
// GET /v1/router_replay and /v1/router_replay/ID of the management listener: the most recent
// requests and their decisions.

#include <vector>

#include "router/admin/management.h"
#include "router/gateway/thread_pool.h"
#include "router/observe/replay.h"

namespace signalbox::admin {

/// All arguments must outlive the routes.
std::vector<gateway::Route> replay_routes(observe::Replay& replay,
                                          const serving::CurrentState& current,
                                          gateway::ThreadPool& pool);

}  // namespace signalbox::admin
