#pragma once
// The configuration over the management API: read, check, change and roll back.

#include "router/admin/management.h"
#include "router/serving/reloader.h"

namespace signalbox::admin {

/// /config/router with validate, versions and rollback, and /config/{status,hash,schema}.
/// `reloader` returns null while the daemon starts and if there is no file; otherwise its result
/// must outlive the request.
std::vector<http::Route> config_routes(const serving::CurrentState& current, http::ThreadPool& pool,
                                       std::function<serving::Reloader*()> reloader);

}  // namespace signalbox::admin
