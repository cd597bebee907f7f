#pragma once
// The routes that the dashboard needs in addition to the management API: its own files, the
// caller's permissions, recent traffic, the models' servers, the audit log, and a real chat
// request.

#include <vector>

#include "router/admin/management.h"
#include "router/observe/history.h"

namespace signalbox::admin {

/// All arguments must outlive the routes.
///
///   GET  /api/v1/access       how callers are identified, and this caller's permissions
///   GET  /api/v1/traffic      the steps of the history; requires metrics.read
///   GET  /api/v1/servers      the servers of each model; requires metrics.read
///   GET  /api/v1/audit        the newest entries of the audit log; requires audit.read
///   POST /api/v1/chat         a chat completion request, answered like on the data plane;
///                             requires chat.invoke
std::vector<http::Route> dashboard_routes(const observe::History& history,
                                          const upstream::Fleet& fleet,
                                          const serving::CurrentState& current,
                                          http::ThreadPool& pool);

/// GET /, /app.js and the like, without permission, because a browser has no token when it loads
/// them.
std::vector<http::Route> dashboard_files();

}  // namespace signalbox::admin
