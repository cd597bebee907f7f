#pragma once
// POST /v1/chat/completions: read, understand, decide, rewrite, pass on, relay. The same for an API
// in front of it, whose request is translated before and whose reply behind.

#include "router/api/compute.h"
#include "router/api/observer.h"
#include "router/api/routes.h"
#include "router/router.h"
#include "router/selection/runtime_stats.h"
#include "router/surfaces/surface.h"
#include "router/upstream/backends.h"

namespace signalbox::api {

/// All of them outlive the route. `stats` is told how the models are doing, and asked for it;
/// `observer` is told of every request.
Route chat_route(const router::Router& router, const upstream::Backends& backends, Compute& compute,
                 router::selection::RuntimeStats& stats, const Observer& observer);

/// POST to `path` by way of the surface, which outlives the route.
Route surface_route(std::string path, const surfaces::Surface& surface,
                    const router::Router& router, const upstream::Backends& backends,
                    Compute& compute, router::selection::RuntimeStats& stats,
                    const Observer& observer);

}  // namespace signalbox::api
