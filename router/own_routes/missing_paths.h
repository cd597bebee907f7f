#pragma once
// Paths of OpenAI's API that the router does not have, because it keeps no such state.

#include <string>
#include <string_view>

#include "router/http/routes.h"

namespace signalbox::own_routes {

/// The body of a 404 or a 405 for a client. For paths of state that only a provider keeps, its
/// message states what to use instead.
std::string missing_path_body(const http::Request& request, int status, std::string_view message);

}  // namespace signalbox::own_routes
