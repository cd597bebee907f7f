#pragma once
// The configuration over the management API: read, check, change, take back.

#include "router/api/management.h"
#include "router/reload/reloader.h"

namespace signalbox::api {

/// /config/router with validate, versions and rollback, /config/{status,hash,schema}. `reloader`
/// gives null while the daemon starts, or when it has no file; what it gives outlives the request.
std::vector<Route> config_routes(const router::Live& live, Compute& pool,
                                 std::function<router::Reloader*()> reloader);

}  // namespace signalbox::api
