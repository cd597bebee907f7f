#pragma once
// GET /v1/models and /v1/models/NAME: the names that the client's key may request. The same for
// System One at /v1/systemone/models, whose names are not those of chats.

#include "router/config/config.h"
#include "router/http/routes.h"

namespace signalbox::own_routes {

/// Automatic names ("auto") come first, then the configured models.
std::vector<http::Route> model_routes(const config::Config& config);

}  // namespace signalbox::own_routes
