#pragma once
// The table of routes by method and path, and the replies to requests that match none.

#include <initializer_list>
#include <string>
#include <vector>

#include "router/http/server.h"

namespace signalbox::gateway {

struct Route {
  std::string method;  // GET answers HEAD too
  std::string path;    // whole, or a prefix that ends in '/'; "/" is whole
  http::Handler handler;
};

/// A handler that dispatches to the routes. Unknown paths get 404, wrong methods 405 with Allow,
/// OPTIONS 204 with Allow. `error_body` writes the bodies of the first two.
http::Handler make_routes(std::vector<Route> routes, http::ErrorBody error_body);

/// A handler that always answers 200 with this JSON.
http::Handler fixed_json(std::string body);

}  // namespace signalbox::gateway
