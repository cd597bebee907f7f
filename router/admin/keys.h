#pragma once
// GET and POST /api/v1/keys, DELETE /api/v1/keys/NAME: the clients' keys.

#include <vector>

#include "router/admin/management.h"

namespace signalbox::admin {

/// The arguments must outlive the routes.
std::vector<http::Route> key_routes(const serving::CurrentState& current, http::ThreadPool& pool);

}  // namespace signalbox::admin
