#pragma once
// POST /api/v1/explain: shows people why a request would be routed as it is.

#include "router/admin/management.h"

namespace signalbox::admin {

/// `current`, `pool`, whose threads run the models, and `memory` must outlive the route.
http::Route explain_route(const serving::CurrentState& current, http::ThreadPool& pool,
                          learning::Memory& memory);

}  // namespace signalbox::admin
