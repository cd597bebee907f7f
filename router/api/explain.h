#pragma once
// POST /api/v1/explain: why a request would go where it goes, for people.

#include "router/api/management.h"

namespace signalbox::api {

/// `live` and `pool`, whose threads run the models, outlive the route.
Route explain_route(const router::Live& live, Compute& pool);

}  // namespace signalbox::api
