// Uses an event loop that runs only during a post.

#include "router/upstream/poster.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "router/http/io.h"
#include "router/upstream/http_backend.h"
#include "router/upstream/whole.h"

namespace signalbox::upstream {
namespace {

constexpr size_t kIdleMax = 8;
constexpr size_t kReplyBytesMax = 1 << 20;  // of a reply that the caller discards

http::Task<Result<PostReply>> call_whole(const Backend& backend, const Call& call,
                                         size_t bytes_max) {
  auto reply = co_await backend.call(call);
  if (!reply) co_return tl::unexpected<Error>(std::move(reply).error());
  PostReply out{(*reply)->head().status, {}, (*reply)->head().headers};
  auto body = co_await read_whole(**reply, bytes_max);
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  out.body = *std::move(body);
  co_return std::move(out);
}

/// A name of the configuration as the value of a header.
std::string one_line(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return name;
}

}  // namespace

struct Poster::Impl {
  http::asio::io_context loop{1};
  std::chrono::milliseconds limit;
  std::string name;
  HttpBackend backend;

  Impl(const config::BackendRef& to, const config::HttpLimits& limits,
       std::chrono::milliseconds within, std::optional<std::string> api_key)
      : limit(within), name(one_line(to.name)), backend(to, limits, std::move(api_key)) {}
};

Poster::Poster(const config::BackendRef& to, std::chrono::milliseconds limit,
               std::optional<std::string> api_key) {
  config::HttpLimits limits;
  limits.connect_timeout = limit;
  impl_ = std::make_unique<Impl>(to, limits, limit, std::move(api_key));
}

Poster::~Poster() = default;

Result<void> Poster::post(std::string_view target, std::string_view type, std::string_view body) {
  SIGNALBOX_TRY(const PostReply reply, post(target, type, body, impl_->limit, kReplyBytesMax));
  if (reply.status / 100 != 2) return fail(Code::kUpstream, "it returned status {}", reply.status);
  return {};
}

Result<PostReply> Poster::post(std::string_view target, std::string_view type,
                               std::string_view body, std::chrono::milliseconds limit,
                               size_t bytes_max, const std::stop_token& stop) {
  http::Headers headers;
  headers.add("Content-Type", type);
  return exchange("POST", target, headers, body, limit, bytes_max, stop);
}

Result<PostReply> Poster::send(std::string_view method, std::string_view target,
                               std::string_view json, std::chrono::milliseconds limit,
                               size_t bytes_max, const std::stop_token& stop) {
  http::Headers headers;
  headers.add("Accept", "application/json");
  if (!json.empty()) headers.add("Content-Type", "application/json");
  return exchange(method, target, headers, json, limit, bytes_max, stop);
}

Result<PostReply> Poster::get(std::string_view target, std::chrono::milliseconds limit,
                              size_t bytes_max, const std::stop_token& stop) {
  return send("GET", target, {}, limit, bytes_max, stop);
}

Result<PostReply> Poster::exchange(std::string_view method, std::string_view target,
                                   const http::Headers& headers, std::string_view body,
                                   std::chrono::milliseconds limit, size_t bytes_max,
                                   const std::stop_token& stop) {
  const auto until = http::Clock::now() + limit;
  const http::Headers none;
  http::Interrupt interrupt;
  Call call{target, headers, none, impl_->name, body, interrupt};
  call.method = method;
  std::optional<Result<PostReply>> outcome;
  auto ended = [&outcome](std::exception_ptr failure, Result<PostReply> result) {
    if (failure) result = fail(Code::kInternal, "the exchange failed");
    outcome = std::move(result);
  };
  http::asio::co_spawn(impl_->loop, call_whole(impl_->backend, call, bytes_max), ended);
  const std::stop_callback wake(stop, [this] { http::asio::post(impl_->loop, [] {}); });
  impl_->loop.restart();
  // Do not run until all work is done: kept connections are watched for as long as they are kept.
  // Do not use a Deadline either: for a short limit it would expire far too late.
  while (!outcome && !stop.stop_requested()) {
    if (impl_->loop.run_one_until(until) == 0) break;
  }
  if (!outcome) interrupt.raise(stop.stop_requested() ? Code::kCancelled : Code::kDeadline);
  while (!outcome) impl_->loop.run_one();
  return *std::move(outcome);
}

PosterPool::PosterPool(config::BackendRef to, std::chrono::milliseconds limit,
                       std::optional<std::string> api_key)
    : to_(std::move(to)), limit_(limit), api_key_(std::move(api_key)) {}

std::unique_ptr<Poster> PosterPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Poster>(to_, limit_, api_key_);
  auto out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

// A poster whose exchange failed is not kept.
void PosterPool::keep(std::unique_ptr<Poster> poster, const Result<PostReply>& reply) {
  if (!reply) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(poster));
}

Result<PostReply> PosterPool::post(std::string_view target, std::string_view type,
                                   std::string_view body, std::chrono::milliseconds limit,
                                   size_t bytes_max, const std::stop_token& stop) {
  auto poster = take();
  auto reply = poster->post(target, type, body, limit, bytes_max, stop);
  keep(std::move(poster), reply);
  return reply;
}

Result<PostReply> PosterPool::send(std::string_view method, std::string_view target,
                                   std::string_view json, std::chrono::milliseconds limit,
                                   size_t bytes_max) {
  auto poster = take();
  auto reply = poster->send(method, target, json, limit, bytes_max);
  keep(std::move(poster), reply);
  return reply;
}

}  // namespace signalbox::upstream
