#pragma once
// The configuration over the management API: read, check, change, take back.

#include "router/admin/management.h"
#include "router/serving/reloader.h"

namespace signalbox::admin {

/// /config/router with validate, versions and rollback, /config/{status,hash,schema}. `reloader`
/// gives null while the daemon starts, or when it has no file; what it gives outlives the request.
std::vector<gateway::Route> config_routes(const serving::CurrentState& live,
                                          gateway::ThreadPool& pool,
                                          std::function<serving::Reloader*()> reloader);

}  // namespace signalbox::admin
