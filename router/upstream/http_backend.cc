// Tries a kept connection first and opens a new one otherwise. A host name's addresses are tried
// one by one.

#include "router/upstream/http_backend.h"

#include <utility>

#include "router/config/endpoint.h"
#include "router/upstream/http_upstream_reply.h"
#include "router/upstream/resolver.h"

namespace signalbox::upstream {

HttpBackend::HttpBackend(const config::BackendRef& ref, const config::HttpLimits& limits,
                         std::optional<std::string> api_key, config::Authz::Identity identity)
    : ref_(ref), limits_(limits), outgoing_(ref, std::move(api_key), std::move(identity)) {
  address_ = config::written(ref.host, ref.port);
  pool_key_ = address_;
  if (!ref.tls) return;
  pool_key_ += fmt::format(" tls {} {}", ref.tls_skip_verify, ref.tls_ca_path);
  tls_ = http::Tls::for_client(ref.tls_ca_path, !ref.tls_skip_verify);
}

Error HttpBackend::add_name(Error error) const {
  error.message = fmt::format("backend \"{}\": {}", ref_.name, error.message);
  return error;
}

std::string HttpBackend::head_of(const Call& call) const {
  std::string head;
  head.reserve(call.headers.wire().size() + address_.size() + 512);
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  head.append(call.method).append(" ").append(outgoing_.target(call)).append(" HTTP/1.1\r\n");
  add("Host", address_);
  outgoing_.each(call, add);
  if (call.method != "GET" || !call.body.empty())
    add("Content-Length", std::to_string(call.body.size()));
  head.append("\r\n");
  return head;
}

http::Task<Result<std::unique_ptr<UpstreamReply>>> HttpBackend::call(const Call& call) const {
  if (!tls_) {
    Error broken{Code::kUpstream, tls_.error().message};
    co_return tl::unexpected<Error>(add_name(std::move(broken)));
  }
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::asio::io_context& loop = http::loop_of(executor);
  const std::string head = head_of(call);
  Stage ignored_stage;
  Stage& stage = call.stage != nullptr ? *call.stage : ignored_stage;
  stage = Stage::kConnecting;

  // A call that must not be sent twice gets a new connection, which no server closes unread.
  auto kept = call.repeatable ? Pool::of(loop).take(pool_key_) : nullptr;
  if (kept) {
    auto reply = std::make_unique<HttpUpstreamReply>(std::move(kept), call.interrupt, ref_.name,
                                                     pool_key_, limits_);
    stage = Stage::kSent;
    Result<void> begun = co_await reply->begin(head, call.body);
    if (reply->has_begun()) stage = Stage::kAnswered;
    if (begun) co_return std::unique_ptr<UpstreamReply>(std::move(reply));
    // The server closed the idle connection while our request was on its way. We cannot distinguish
    // this from a server that ran the request and died without a byte of reply. Running a
    // completion twice only costs more, and we repeat it only once.
    if (!reply->was_stale()) co_return tl::unexpected<Error>(std::move(begun).error());
  }

  stage = Stage::kConnecting;
  auto fresh = co_await connect(loop, call.interrupt);
  if (!fresh) co_return tl::unexpected<Error>(add_name(std::move(fresh).error()));
  auto reply = std::make_unique<HttpUpstreamReply>(std::move(*fresh), call.interrupt, ref_.name,
                                                   pool_key_, limits_);
  stage = Stage::kSent;
  Result<void> begun = co_await reply->begin(head, call.body);
  if (reply->has_begun()) stage = Stage::kAnswered;
  if (!begun) co_return tl::unexpected<Error>(std::move(begun).error());
  co_return std::unique_ptr<UpstreamReply>(std::move(reply));
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
  auto channel = std::make_unique<Channel>(http::Socket(loop));
  http::Socket& socket = channel->stream.socket();
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
  if (*tls_ == nullptr) co_return std::move(channel);
  const http::ErrorCode refused = co_await channel->stream.connect(**tls_, ref_.host);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (timed_out)
    co_return fail(Code::kDeadline, "the TLS handshake took longer than {} ms",
                   limits_.connect_timeout.count());
  if (refused) co_return fail(Code::kUpstream, "the TLS handshake failed: {}", refused.message());
  co_return std::move(channel);
}

}  // namespace signalbox::upstream
