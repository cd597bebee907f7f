#pragma once
// /v1/contexts: clients store messages that their requests then refer to. docs/context.md describes
// the JSON.

#include <vector>

#include "router/config/config.h"
#include "router/contexts/store.h"
#include "router/http/routes.h"
#include "router/http/thread_pool.h"

namespace signalbox::admin {

/// All arguments must outlive the routes. Each client sees only its own contexts: see owner_of().
std::vector<http::Route> context_routes(contexts::Store& store, const config::Config& config,
                                        http::ThreadPool& pool);

}  // namespace signalbox::admin
