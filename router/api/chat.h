#pragma once
// POST /v1/chat/completions: read, understand, decide, and answer or forward. The same for an API
// in front of it, whose request is translated before and whose reply behind.

#include <string_view>

#include "router/api/forward.h"
#include "router/api/routes.h"

namespace signalbox::api {

Route chat_route(const Services& services);

/// POST to `path`, which is static, by way of the surface, which outlives the route.
Route surface_route(std::string_view path, const surfaces::Surface& surface,
                    const Services& services);

}  // namespace signalbox::api
