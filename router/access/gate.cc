// Failures do not lock an address out: many clients may share it, and one of them with an old key
// would stop the others. They only make further failures cheap.

#include "router/access/gate.h"

#include <chrono>
#include <memory>
#include <utility>

#include "router/dialects/anthropic.h"
#include "router/http/error_reply.h"
#include "router/observe/trace_context.h"

namespace signalbox::access {
namespace {

constexpr uint64_t kFailuresAMinute = 60;
constexpr std::string_view kMessages = "/v1/messages";

config::RateLimit failure_limit() {
  config::RateLimit::Rule rule;
  rule.name = "wrong keys";
  rule.requests_per_unit = kFailuresAMinute;
  return config::local_limit({rule});
}

/// The addresses of one client: with IPv6, it has the whole network of 64 bits.
std::string network_of(const std::string& address) {
  size_t end = 0;
  for (int colons = 0; end < address.size() && colons < 4; ++end) {
    if (address[end] == '.') return address;
    if (address[end] == ':') ++colons;
  }
  return address.substr(0, end);
}

bool is_for_anthropic(const http::Request& request) {
  return request.path().starts_with(kMessages) || request.headers.find("anthropic-version");
}

std::string body_of(const http::Request& request, const Denial& denial) {
  constexpr int kUnauthorized = 401;
  const std::string_view code = denial.status == kUnauthorized ? "invalid_api_key" : denial.reason;
  std::string body = http::error_body(denial.status, denial.message, code);
  if (!is_for_anthropic(request)) return body;
  return dialects::AnthropicDialect().refusal(denial.status, body);
}

struct Gate {
  const Clients& clients;
  const GateShared shared;
  const bool from_proxy;
  const http::Handler next;
  const config::RateLimit limit = failure_limit();

  http::Task<> refuse(http::Exchange exchange, Denial denial) const;
};

http::Task<> Gate::refuse(http::Exchange exchange, Denial denial) const {
  const http::Request& request = exchange.request;
  http::Headers fields;
  const std::string id = observe::request_id(request.headers.find("x-request-id"));
  fields.add("x-request-id", id);
  if (is_for_anthropic(request)) fields.add("request-id", id);
  const auto limited = shared.failures.admit(
      limit, {.user = network_of(request.peer), .groups = {}}, std::chrono::steady_clock::now());
  if (limited) {
    fields.add("Retry-After", std::to_string(limited->retry.count()));
    denial = {429, "too_many_failures", "too many requests with a wrong key; try again later"};
  }
  if (denial.status == 401) fields.add("WWW-Authenticate", "Bearer");
  fields.add("Content-Type", "application/json");
  shared.metrics.denied.with({std::string(denial.reason)}).add();
  const std::string body = body_of(request, denial);
  co_await exchange.reply.send(denial.status, fields, body);
}

// The coroutine's frame keeps the gate alive.
http::Task<> refused(std::shared_ptr<const Gate> at, http::Exchange exchange, Denial denial) {
  co_await at->refuse(exchange, std::move(denial));
}

}  // namespace

http::Handler gate(const Clients& clients, const GateShared& shared, bool from_proxy,
                   http::Handler next) {
  // Shared by the copies of the std::function and the replies in progress.
  auto made = std::make_shared<const Gate>(Gate{clients, shared, from_proxy, std::move(next)});
  return [made](http::Exchange exchange) {
    auto denial = made->clients.identify(exchange.request, made->from_proxy);
    return denial ? refused(made, exchange, *std::move(denial)) : made->next(exchange);
  };
}

}  // namespace signalbox::access
