#pragma once
// The table of routes by method and path, and the replies to requests that match none.

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "router/http/server.h"

namespace signalbox::http {

struct Route {
  std::string method;  // GET answers HEAD too
  std::string path;    // whole, or a prefix that ends in '/'; "/" is whole
  Handler handler;
  std::string ending = {};  // of what follows the prefix; "": any
};

bool matches(const Route& route, std::string_view path);

/// Makes the JSON body of an error in the form that the sender of the request reads.
using RequestErrorBody =
    std::function<std::string(const Request& request, int status, std::string_view message)>;

/// A handler that dispatches to the routes. Unknown paths get 404, wrong methods 405 with Allow,
/// OPTIONS 204 with Allow. `error_body` writes the bodies of the first two.
Handler make_routes(std::vector<Route> routes, RequestErrorBody error_body);
/// The same, with one form for all requests.
Handler make_routes(std::vector<Route> routes, ErrorBody error_body);

/// A handler that answers requests to the routes, and passes all others to `next`.
Handler in_front(std::vector<Route> routes, Handler next);

/// A handler that always answers 200 with this JSON.
Handler fixed_json(std::string body);

}  // namespace signalbox::http
