#pragma once
// The document that programs learn an API from, in the form of OpenAPI 3.1.

#include <span>

#include "router/gateway/routes.h"

namespace signalbox::admin {

/// GET /openapi.json over the routes of a listener and itself: what openapi.yaml says of each. A
/// route that it says nothing of stands there with "x-undescribed": true.
gateway::Route openapi_route(std::span<const gateway::Route> routes);

}  // namespace signalbox::admin
