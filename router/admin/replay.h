#pragma once
// GET /v1/router_replay and /v1/router_replay/ID of the management listener: the most recent
// requests and their decisions.

#include <vector>

#include "router/admin/management.h"
#include "router/http/thread_pool.h"
#include "router/observe/replay.h"

namespace signalbox::admin {

/// All arguments must outlive the routes.
std::vector<http::Route> replay_routes(observe::Replay& replay,
                                       const serving::CurrentState& current,
                                       http::ThreadPool& pool);

}  // namespace signalbox::admin
