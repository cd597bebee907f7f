#pragma once
// What the dashboard asks for beside the rest of the management API: its own files, who the caller
// is, the last minutes of traffic, a request that is sent for real.

#include <vector>

#include "router/admin/management.h"
#include "router/observe/history.h"

namespace signalbox::admin {

/// All outlive the routes.
///
///   GET  /api/v1/access       how callers are told apart, and what this one may do
///   GET  /api/v1/traffic      the steps of the history: metrics.read
///   POST /api/v1/chat         a chat completion request, answered as the data plane would:
///                             chat.invoke
std::vector<gateway::Route> dashboard_routes(const observe::History& history,
                                             const serving::CurrentState& live,
                                             gateway::ThreadPool& pool);

/// GET /, /app.js and the like, for everybody: a browser that asks for them has no token yet.
std::vector<gateway::Route> dashboard_files();

}  // namespace signalbox::admin
