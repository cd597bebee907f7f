#pragma once
// Memories over HTTP: a client's own on the data listeners, and any user's for operators.

#include <vector>

#include "router/admin/management.h"
#include "router/memories/memories.h"

namespace signalbox::memory_api {

/// GET and DELETE /v1/memory and /v1/memory/ID, for the user in the header that `authz.identity`
/// names; 403 without a user. The arguments outlive the routes.
std::vector<http::Route> client_routes(memories::Memories& memories, const config::Config& config,
                                       http::ThreadPool& pool);

/// The same on the management listener, for the user in the parameter `user_id`.
std::vector<http::Route> operator_routes(memories::Memories& memories,
                                         const serving::CurrentState& current,
                                         http::ThreadPool& pool);

}  // namespace signalbox::memory_api
