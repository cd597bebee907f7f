#pragma once
// The API description for programs, in the format of OpenAPI 3.1.

#include <span>

#include "router/http/routes.h"

namespace signalbox::admin {

/// GET /openapi.json for the routes of a listener and itself, with their descriptions from
/// openapi.yaml. A route without a description is listed with "x-undescribed": true.
http::Route openapi_route(std::span<const http::Route> routes);

}  // namespace signalbox::admin
