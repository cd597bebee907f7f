#pragma once
// POST /api/v1/explain: shows people why a request would be routed as it is.

#include "router/admin/management.h"

namespace signalbox::admin {

/// `current` and `pool`, whose threads run the models, must outlive the route.
http::Route explain_route(const serving::CurrentState& current, http::ThreadPool& pool);

}  // namespace signalbox::admin
