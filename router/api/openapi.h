#pragma once
// The document that programs learn an API from, in the form of OpenAPI 3.1.

#include <span>

#include "router/api/routes.h"

namespace signalbox::api {

/// GET /openapi.json over the routes of a listener and itself: what openapi.yaml says of each. A
/// route that it says nothing of stands there with "x-undescribed": true.
Route openapi_route(std::span<const Route> routes);

}  // namespace signalbox::api
