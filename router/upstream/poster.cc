// A loop that runs only while somebody posts.

#include "router/upstream/poster.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

#include "router/http/deadline.h"
#include "router/upstream/http_backend.h"

namespace signalbox::upstream {
namespace {

/// Of a reply that nobody reads: more is not waited for.
constexpr size_t kReplyBytesMax = 1 << 20;

http::Task<Result<void>> exchange(const Backend& backend, const Call& call) {
  auto answer = co_await backend.call(call);
  if (!answer) co_return tl::unexpected<Error>(std::move(answer).error());
  const int status = (*answer)->head().status;
  for (size_t read = 0; read < kReplyBytesMax;) {
    const Result<Piece> piece = co_await (*answer)->next();
    if (!piece) co_return tl::unexpected<Error>(piece.error());
    if (piece->last) break;
    read += piece->bytes.size();
  }
  if (status / 100 != 2) co_return fail(Code::kUpstream, "it answered {}", status);
  co_return Result<void>{};
}

}  // namespace

struct Poster::Impl {
  http::asio::io_context loop{1};
  std::chrono::milliseconds limit;
  HttpBackend backend;

  Impl(const config::BackendRef& to, const config::HttpLimits& limits,
       std::chrono::milliseconds within)
      : limit(within), backend(to, limits, std::nullopt) {}
};

Poster::Poster(const config::BackendRef& to, std::chrono::milliseconds limit) {
  config::HttpLimits limits;
  limits.connect_timeout = limit;
  impl_ = std::make_unique<Impl>(to, limits, limit);
}

Poster::~Poster() = default;

Result<void> Poster::post(std::string_view target, std::string_view type, std::string_view body) {
  http::Headers headers;
  headers.add("Content-Type", type);
  const http::Headers none;
  http::Interrupt interrupt;
  http::Deadline limit(impl_->loop, [&] { interrupt.raise(Code::kDeadline); });
  limit.set(impl_->limit);
  const Call call{target, headers, none, "traces", body, interrupt};
  std::optional<Result<void>> outcome;
  auto ended = [&outcome](std::exception_ptr failure, Result<void> result) {
    if (failure) result = fail(Code::kInternal, "the exchange failed");
    outcome = std::move(result);
  };
  http::asio::co_spawn(impl_->loop, exchange(impl_->backend, call), ended);
  impl_->loop.restart();
  // Not to the end of all work: kept connections are watched for as long as they are kept.
  while (!outcome) impl_->loop.run_one();
  return *std::move(outcome);
}

}  // namespace signalbox::upstream
