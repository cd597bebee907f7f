// A kept connection first, a fresh one otherwise; names are tried address by address.

#include "router/upstream/http_backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include "router/upstream/http_answer.h"
#include "router/upstream/resolver.h"

namespace signalbox::upstream {
namespace {

using http::iequals;

bool begins(std::string_view name, std::string_view prefix) {
  return iequals(name.substr(0, prefix.size()), prefix);
}

bool ends(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && iequals(name.substr(name.size() - suffix.size()), suffix);
}

/// Where clients of the usual providers put their keys.
constexpr std::array<std::string_view, 4> kCredentials = {"authorization", "x-api-key", "api-key",
                                                          "x-goog-api-key"};

/// Servers that spread requests over workers of their own, and are ours.
bool chooses_workers(const config::BackendRef& ref) {
  return iequals(ref.engine_kind, "dynamo") || iequals(ref.engine_kind, "production_stack") ||
         iequals(ref.engine_kind, "production-stack");
}

}  // namespace

HttpBackend::HttpBackend(const config::BackendRef& ref, const config::HttpLimits& limits,
                         std::optional<std::string> api_key, config::Authz::Identity identity)
    : ref_(ref), limits_(limits), identity_(std::move(identity)) {
  const bool v6 = ref.host.find(':') != std::string::npos;
  address_ =
      v6 ? fmt::format("[{}]:{}", ref.host, ref.port) : fmt::format("{}:{}", ref.host, ref.port);
  is_told_ = chooses_workers(ref);
  if (!api_key) return;
  const std::string value =
      ref.auth_prefix.empty() ? *api_key : fmt::format("{} {}", ref.auth_prefix, *api_key);
  http::Headers field;
  field.add(ref.auth_header, value);
  credentials_ = field.wire();
}

Error HttpBackend::named(Error error) const {
  error.message = fmt::format("backend \"{}\": {}", ref_.name, error.message);
  return error;
}

bool HttpBackend::is_replaced(std::string_view name) const {
  return !ref_.api_key_env.empty() &&
         (iequals(name, "authorization") || iequals(name, ref_.auth_header));
}

// Of the client's fields; what the configuration adds is its own choice.
bool HttpBackend::is_withheld(std::string_view name) const {
  const auto same = [name](std::string_view other) { return iequals(name, other); };
  const bool has_key = !ref_.api_key_env.empty() || !ref_.api_key.empty();
  if (has_key && std::any_of(kCredentials.begin(), kCredentials.end(), same)) return true;
  return same("cookie") || begins(name, "x-authz-") || same(identity_.user_id_header) ||
         same(identity_.user_groups_header) || (begins(name, "x-user-") && ends(name, "-key"));
}

std::string HttpBackend::head_of(const Call& call) const {
  std::string head;
  head.reserve(call.headers.wire().size() + address_.size() + credentials_.size() + 256);
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  head.append(call.method)
      .append(" ")
      .append(ref_.path_prefix)
      .append(call.target)
      .append(" HTTP/1.1\r\n");
  add("Host", address_);
  for (size_t i = 0; i < call.headers.size(); ++i) {
    const http::Field field = call.headers[i];
    if (iequals(field.name, "host") || iequals(field.name, "expect") ||
        iequals(field.name, "x-request-id") || is_replaced(field.name) || is_withheld(field.name))
      continue;
    if (!call.traceparent.empty() && iequals(field.name, "traceparent")) continue;
    if (call.drops_tracestate && iequals(field.name, "tracestate")) continue;
    if (http::is_end_to_end(call.headers, i)) add(field.name, field.value);
  }
  for (size_t i = 0; i < call.added.size(); ++i) {
    const http::Field field = call.added[i];
    if (!is_replaced(field.name)) add(field.name, field.value);
  }
  for (size_t i = 0; call.decided != nullptr && is_told_ && i < call.decided->size(); ++i) {
    const http::Field field = (*call.decided)[i];
    if (begins(field.name, "x-vsr-selected-")) add(field.name, field.value);
  }
  head.append(credentials_);
  add("x-request-id", call.request_id);
  if (!call.traceparent.empty()) add("traceparent", call.traceparent);
  if (call.method != "GET") add("Content-Length", std::to_string(call.body.size()));
  head.append("\r\n");
  return head;
}

http::Task<Result<std::unique_ptr<Answer>>> HttpBackend::call(const Call& call) const {
  if (ref_.tls) {
    co_return fail(Code::kUnsupported, "backend \"{}\": https is not built yet", ref_.name);
  }
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::asio::io_context& loop = http::loop_of(executor);
  const std::string head = head_of(call);
  Stage unwanted;
  Stage& stage = call.stage != nullptr ? *call.stage : unwanted;
  stage = Stage::kConnecting;

  if (auto kept = Pool::of(loop).take(address_)) {
    auto answer =
        std::make_unique<HttpAnswer>(std::move(kept), call.interrupt, ref_.name, address_, limits_);
    stage = Stage::kSent;
    Result<void> begun = co_await answer->begin(head, call.body);
    if (answer->has_begun()) stage = Stage::kAnswered;
    if (begun) co_return std::unique_ptr<Answer>(std::move(answer));
    // The server closed the idle connection while our request was on its way. That it has run the
    // request and died without a byte of reply cannot be told apart from here; running a completion
    // twice changes nothing but its cost, and it happens once.
    if (!answer->was_stale()) co_return tl::unexpected<Error>(std::move(begun).error());
  }

  stage = Stage::kConnecting;
  auto fresh = co_await connect(loop, call.interrupt);
  if (!fresh) co_return tl::unexpected<Error>(named(std::move(fresh).error()));
  auto answer =
      std::make_unique<HttpAnswer>(std::move(*fresh), call.interrupt, ref_.name, address_, limits_);
  stage = Stage::kSent;
  Result<void> begun = co_await answer->begin(head, call.body);
  if (answer->has_begun()) stage = Stage::kAnswered;
  if (!begun) co_return tl::unexpected<Error>(std::move(begun).error());
  co_return std::unique_ptr<Answer>(std::move(answer));
}

http::Task<Result<std::unique_ptr<Channel>>> HttpBackend::connect(
    http::asio::io_context& loop, http::Interrupt& interrupt) const {
  Resolver& resolver = Resolver::of(loop);
  auto endpoints =
      co_await resolver.resolve(ref_.host, ref_.port, limits_.connect_timeout, interrupt);
  if (!endpoints) co_return tl::unexpected<Error>(std::move(endpoints).error());
  for (size_t i = 0;; ++i) {
    auto channel = co_await connect_to((*endpoints)[i], loop, interrupt);
    if (channel || i + 1 == endpoints->size() || interrupt.raised()) co_return channel;
  }
}

http::Task<Result<std::unique_ptr<Channel>>> HttpBackend::connect_to(
    http::Endpoint endpoint, http::asio::io_context& loop, http::Interrupt& interrupt) const {
  Channel opened{http::Socket(loop), {}, false, {}};
  auto channel = std::make_unique<Channel>(std::move(opened));
  http::Socket& socket = channel->socket;
  http::ErrorCode ignored;
  bool timed_out = false;
  http::Deadline limit(loop, [&] {
    timed_out = true;
    http::ErrorCode unused;
    socket.close(unused);
  });
  limit.set(limits_.connect_timeout);
  http::Interrupt::Scope scope(interrupt, [&socket] {
    http::ErrorCode unused;
    socket.close(unused);
  });
  const auto [error] = co_await socket.async_connect(endpoint, http::kAwait);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (timed_out)
    co_return fail(Code::kDeadline, "no connection within {} ms", limits_.connect_timeout.count());
  if (error) co_return fail(Code::kUpstream, "cannot connect: {}", error.message());
  socket.non_blocking(true, ignored);
  socket.set_option(http::asio::ip::tcp::no_delay(true), ignored);
  co_return std::move(channel);
}

}  // namespace signalbox::upstream
