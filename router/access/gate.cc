// Failures do not lock an address out: many clients may share it, and one of them with an old key
// would stop the others. After too many failures, further ones are only refused sooner.

#include "router/access/gate.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "router/dialects/anthropic.h"
#include "router/http/error_reply.h"
#include "router/observe/trace_context.h"

namespace signalbox::access {
namespace {

constexpr uint64_t kFailuresAMinute = 60, kForgeriesAMinute = 60;
constexpr std::string_view kMessages = "/v1/messages";

config::RateLimit failure_limit() {
  config::RateLimit::Rule rule;
  rule.name = "wrong keys";
  rule.requests_per_unit = kFailuresAMinute;
  return config::local_limit({rule});
}

/// Charges each wrong signature of a token. Nothing else counts here: an honest client with an old
/// key or token sends no wrong signature, so it does not block others at its address.
config::RateLimit forgery_limit() {
  config::RateLimit::Rule rule;
  rule.name = "wrong signatures";
  rule.tokens_per_unit = kForgeriesAMinute;
  config::RateLimit out = config::local_limit({rule});
  out.fail_open = true;
  return out;
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

std::string shaped(const http::Request& request, int status, std::string body) {
  if (!is_for_anthropic(request)) return body;
  return dialects::AnthropicDialect().refusal(status, body);
}

constexpr int kUnauthorized = 401, kTooMany = 429, kUnavailable = 503;

std::string body_of(const http::Request& request, const Denial& denial) {
  std::string_view code = denial.reason;
  if (denial.status == kUnauthorized) code = denial.of_token ? "invalid_token" : "invalid_api_key";
  return shaped(request, denial.status, http::error_body(denial.status, denial.message, code));
}

/// The challenge of RFC 6750, which allows neither quotes nor backslashes in a description.
std::string challenge_of(const Denial& denial) {
  if (!denial.of_token) return "Bearer";
  std::string description = denial.message;
  for (char& c : description) {
    if (c == '"') c = '\'';
    if (c < 0x20 || c > 0x7E || c == '\\') c = '?';
  }
  return fmt::format(R"(Bearer error="invalid_token", error_description="{}")", description);
}

/// Waits until the keys have been read, the patience has passed, or the request is interrupted.
http::Task<> wait_for(tokens::KeySource& keys, http::Interrupt& interrupt) {
  constexpr std::chrono::seconds kPatience{6};  // reading keys takes at most five
  const http::Executor executor = co_await http::asio::this_coro::executor;
  // Shared with the thread that reads the keys.
  auto timer = std::make_shared<http::Timer>(executor, kPatience);
  std::function<void()> wake_here = [timer] { http::wake_from_anywhere(timer); };
  if (!keys.wait(std::move(wake_here))) co_return;
  std::function<void()> give_up = [timer] { http::wake(*timer); };
  const http::Interrupt::Scope scope(interrupt, std::move(give_up));
  co_await timer->async_wait(http::kAwait);
}

struct Gate {
  const Clients& clients;
  const GateShared shared;
  const bool from_proxy;
  const http::Handler next;
  const config::RateLimit limit = failure_limit(), forgeries = forgery_limit();

  std::optional<Denial> identify(http::Request& request) const;
  http::Task<> refuse(http::Exchange exchange, Denial denial) const;
  http::Task<> wait(http::Exchange exchange, Denial denial) const;
  http::Task<> remove(http::Exchange exchange) const;
};

/// Remembered tokens pass, no matter how many failures came from their address.
std::optional<Denial> Gate::identify(http::Request& request) const {
  return clients.identify(request, from_proxy, [&] {
    return !shared.failures.admit(forgeries, {.user = network_of(request.peer), .groups = {}},
                                  std::chrono::steady_clock::now());
  });
}

/// Returns the kind of object that a request deletes here: "context", "response", "memory", "file",
/// "vector_store"; "": it deletes nothing.
std::string_view deleted_by(const http::Request& request) {
  if (request.method != "DELETE") return {};
  if (request.path().starts_with("/v1/contexts/")) return "context";
  if (request.path().starts_with("/v1/memory")) return "memory";
  if (request.path().starts_with("/v1/files/")) return "file";
  if (request.path().starts_with("/v1/vector_stores/")) return "vector_store";
  return request.path().starts_with("/v1/responses/") ? "response" : "";
}

http::Task<> Gate::refuse(http::Exchange exchange, Denial denial) const {
  const http::Request& request = exchange.request;
  http::Headers fields;
  const std::string id = observe::request_id(request.headers.find("x-request-id"));
  fields.add("x-request-id", id);
  if (is_for_anthropic(request)) fields.add("request-id", id);
  std::optional<limits::RateRefusal> limited;
  const limits::Requester sender{.user = network_of(request.peer), .groups = {}};
  const audit::Sender noted{audit::Sender::Kind::kStranger, sender.user};
  const auto now = std::chrono::steady_clock::now();
  if (denial.reason == tokens::kWrongSignature) shared.failures.charge(forgeries, sender, 1, now);
  if (denial.status == kUnavailable) {  // the sender has done nothing wrong
    fields.add("Retry-After", "5");
  } else {
    limited = shared.failures.admit(limit, sender, now);
  }
  if (limited) {
    fields.add("Retry-After", std::to_string(limited->retry.count()));
    denial = {kTooMany, "too_many_failures", "too many requests with a wrong key; try again later"};
  } else if (denial.status == kTooMany) {
    fields.add("Retry-After", "1");
  }
  if (denial.status == kUnauthorized) fields.add("WWW-Authenticate", challenge_of(denial));
  fields.add("Content-Type", "application/json");
  shared.metrics.denied.with({std::string(denial.reason)}).add();
  if (limited) {
    shared.audit.count_refusal(noted);
  } else {
    shared.audit.add_refusal(noted, std::move(audit::Entry("refused")
                                                  .text("reason", denial.reason)
                                                  .number("status", denial.status)
                                                  .text("from", request.peer)));
  }
  const std::string body = body_of(request, denial);
  co_await exchange.reply.send(denial.status, fields, body);
}

// Wait twice: the first read of the keys may have begun before the issuer published the key.
http::Task<> Gate::wait(http::Exchange exchange, Denial denial) const {
  constexpr int kWaitsMax = 2;
  std::optional<Denial> found = std::move(denial);
  for (int i = 0; i < kWaitsMax && found && found->awaited != nullptr; ++i) {
    co_await wait_for(*found->awaited, exchange.interrupt);
    if (exchange.interrupt.raised()) co_return;
    found = identify(exchange.request);
  }
  if (!found) {
    co_await next(exchange);
    co_return;
  }
  co_await refuse(exchange, *std::move(found));
}

// Make the audit entry before the handler runs, because the handler may free parts of the request.
http::Task<> Gate::remove(http::Exchange exchange) const {
  const http::Request& request = exchange.request;
  audit::Entry entry("deleted");
  entry.text("what", deleted_by(request)).text("path", request.path()).text("from", request.peer);
  if (request.key != nullptr)
    entry.text("key", request.key->name).text("user", request.key->user_or_name());
  co_await next(exchange);
  if (exchange.reply.status() / 100 == 2) shared.audit.add(std::move(entry));
}

http::Task<> removed(std::shared_ptr<const Gate> at, http::Exchange exchange) {
  co_await at->remove(exchange);
}

// The coroutine's frame keeps the gate alive.
http::Task<> refused(std::shared_ptr<const Gate> at, http::Exchange exchange, Denial denial) {
  if (denial.awaited != nullptr) {
    co_await at->wait(exchange, std::move(denial));
  } else {
    co_await at->refuse(exchange, std::move(denial));
  }
}

}  // namespace

std::string client_error_body(const http::Request& request, int status, std::string_view message) {
  return shaped(request, status, http::error_body(status, message));
}

http::Handler gate(const Clients& clients, const GateShared& shared, bool from_proxy,
                   http::Handler next) {
  // Shared by the copies of the std::function and the replies in progress.
  auto made = std::make_shared<const Gate>(Gate{clients, shared, from_proxy, std::move(next)});
  return [made](http::Exchange exchange) {
    auto denial = made->identify(exchange.request);
    if (denial) return refused(made, exchange, *std::move(denial));
    if (!made->shared.audit.is_open() || deleted_by(exchange.request).empty())
      return made->next(exchange);
    if (!made->shared.audit.refuses_changes()) return removed(made, exchange);
    return refused(made, exchange,
                   Denial{503, "audit_unavailable",
                          "the audit log cannot be written, so nothing may be deleted"});
  };
}

}  // namespace signalbox::access
