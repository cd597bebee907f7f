#pragma once
// POST /v1/chat/completions: read, understand, decide, rewrite, pass on, relay.

#include "router/api/compute.h"
#include "router/api/routes.h"
#include "router/router.h"
#include "router/upstream/backends.h"

namespace signalbox::api {

/// All three outlive the route.
Route chat_route(const router::Router& router, const upstream::Backends& backends,
                 Compute& compute);

}  // namespace signalbox::api
