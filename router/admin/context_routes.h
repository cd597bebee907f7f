#pragma once
// /v1/contexts: clients store messages that their requests then refer to. docs/context.md describes
// the JSON. Operators delete what a user has stored.

#include <vector>

#include "router/admin/management.h"
#include "router/config/config.h"
#include "router/contexts/store.h"
#include "router/dialects/response_store.h"
#include "router/gateway/contexts.h"
#include "router/http/routes.h"
#include "router/http/thread_pool.h"

namespace signalbox::admin {

/// All arguments must outlive the routes. Each client sees only its own contexts: see owner_of().
std::vector<http::Route> context_routes(contexts::Store& store, const config::Config& config,
                                        http::ThreadPool& pool);

/// DELETE /v1/contexts and DELETE /v1/responses on the management listener: all contexts, or all
/// stored responses, of the user in the parameter `user_id`. If several routers share the
/// responses, each one deletes only those that it has made.
std::vector<http::Route> user_data_routes(const gateway::Contexts& contexts,
                                          dialects::ResponseStore& responses,
                                          const serving::CurrentState& current,
                                          http::ThreadPool& pool);

}  // namespace signalbox::admin
