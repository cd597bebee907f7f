// A linear search over a dozen routes is faster than a hash table.

#include "router/http/routes.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace signalbox::http {

bool matches(const Route& route, std::string_view path) {
  const bool prefix = route.path.size() > 1 && route.path.ends_with('/');
  if (path == route.path) return route.ending.empty();
  return prefix && path.starts_with(route.path) &&
         path.substr(route.path.size()).ends_with(route.ending);
}

namespace {

bool accepts(const Route& route, std::string_view method) {
  return method == route.method || (method == "HEAD" && route.method == "GET");
}

/// The route that answers the request; null if there is none.
const Route* route_of(const std::vector<Route>& routes, const Request& request) {
  const auto found = std::ranges::find_if(routes, [&](const Route& route) {
    return matches(route, request.path()) && accepts(route, request.method);
  });
  return found == routes.end() ? nullptr : &*found;
}

/// The value of Allow for a path; "" if no route has it.
std::string methods_of(const std::vector<Route>& routes, std::string_view path) {
  std::string out;
  for (const Route& route : routes) {
    if (!matches(route, path) && path != "*") continue;
    for (const std::string_view method :
         {std::string_view(route.method), std::string_view("HEAD")}) {
      if (!accepts(route, method) || out.find(method) != std::string::npos) continue;
      out.append(out.empty() ? "" : ", ").append(method);
    }
  }
  return out.empty() ? out : out.append(", OPTIONS");
}

/// Returns the known path that the client probably means if its base URL lacks "/v1", has "/v1"
/// twice or ends with a slash, or if the path lacks its last "s"; "" if there is none.
std::string near_path(const std::vector<Route>& routes, std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.starts_with("/v1/v1/")) path.remove_prefix(kVersion.size());
  std::string near = fmt::format("{}{}", path.starts_with("/v1/") ? "" : kVersion, path);
  if (methods_of(routes, near).empty()) near.push_back('s');
  return methods_of(routes, near).empty() ? "" : near;
}

Task<> nowhere(Exchange exchange, std::string allow, std::string near,
               const RequestErrorBody& error_body) {
  const Request& request = exchange.request;
  Headers fields;
  if (!allow.empty()) fields.add("Allow", allow);
  if (!allow.empty() && request.method == "OPTIONS") {
    co_await exchange.reply.send(204, fields, {});
    co_return;
  }
  fields.add("Content-Type", "application/json");
  const int status = allow.empty() ? 404 : 405;
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean {}?", near);
  const std::string body = error_body(
      request, status,
      allow.empty()
          ? fmt::format("{}: there is no such path{}", request.path(), hint)
          : fmt::format("{}: {} is not a method of this path", request.path(), request.method));
  co_await exchange.reply.send(status, fields, body);
}

Task<> send_json(Exchange exchange, std::shared_ptr<const std::string> body) {
  Headers fields;
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(200, fields, *body);
}

}  // namespace

Handler make_routes(std::vector<Route> routes, RequestErrorBody error_body) {
  struct Table {
    std::vector<Route> routes;
    RequestErrorBody error_body;
  };
  // Shared by the copies of the std::function.
  auto table = std::make_shared<const Table>(Table{std::move(routes), std::move(error_body)});
  return [table](Exchange exchange) {
    if (const Route* found = route_of(table->routes, exchange.request))
      return found->handler(exchange);
    const std::string_view path = exchange.request.path();
    std::string allow = methods_of(table->routes, path);
    std::string near = allow.empty() ? near_path(table->routes, path) : "";
    return nowhere(exchange, std::move(allow), std::move(near), table->error_body);
  };
}

Handler make_routes(std::vector<Route> routes, ErrorBody error_body) {
  RequestErrorBody of_any = [error_body = std::move(error_body)](const Request&, int status,
                                                                 std::string_view message) {
    return error_body(status, message);
  };
  return make_routes(std::move(routes), std::move(of_any));
}

Handler in_front(std::vector<Route> routes, Handler next) {
  // Shared by the copies of the std::function.
  auto first = std::make_shared<const std::vector<Route>>(std::move(routes));
  return [first, next = std::move(next)](Exchange exchange) {
    const Route* found = route_of(*first, exchange.request);
    return found != nullptr ? found->handler(exchange) : next(exchange);
  };
}

Handler fixed_json(std::string body) {
  // Shared by the copies of the std::function and the replies in progress.
  auto shared = std::make_shared<const std::string>(std::move(body));
  return [shared](Exchange exchange) { return send_json(exchange, shared); };
}

}  // namespace signalbox::http
