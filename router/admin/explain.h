#pragma once
// POST /api/v1/explain: why a request would go where it goes, for people.

#include "router/admin/management.h"

namespace signalbox::admin {

/// `live` and `pool`, whose threads run the models, outlive the route.
gateway::Route explain_route(const serving::CurrentState& live, gateway::ThreadPool& pool);

}  // namespace signalbox::admin
