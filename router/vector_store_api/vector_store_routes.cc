// Errors have OpenAI's form on both listeners, because OpenAI's clients call both.

#include "router/vector_store_api/vector_store_routes.h"

#include <atomic>
#include <memory>
#include <optional>

#include "base/log.h"
#include "router/access/access.h"
#include "router/access/owner.h"
#include "router/admin/query.h"
#include "router/http/error_reply.h"
#include "router/vector_store_api/operations.h"
#include "router/vector_store_api/replies.h"

namespace signalbox::vector_store_api {
namespace {

using vector_stores::VectorStores;

constexpr int kNotFoundStatus = 404, kTooLargeStatus = 413, kBroken = 500, kNotServed = 501;

struct ErrorReply {
  int status;
  std::string body;
};

/// Disk errors go to the log and not to the client.
ErrorReply error_reply(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return {kNotFoundStatus, http::error_body(kNotFoundStatus, error.message, "not_found")};
    case Code::kTooLarge:
      return {kTooLargeStatus,
              http::error_body(kTooLargeStatus, error.message, "storage_limit_exceeded")};
    case Code::kIo:
    case Code::kCorrupt:
      log::error("vector_stores", "{}", error.message);
      return {kBroken, http::error_body(kBroken, "the files cannot be read or written")};
    default:
      return {http::error_kind(error.code).status, http::error_body(error)};
  }
}

/// The number of downloads in progress, which is limited because whole files stay in memory until
/// slow clients have read them. Owned by the routes of one configuration and by the replies in
/// progress.
using Downloads = std::shared_ptr<std::atomic<uint32_t>>;
constexpr uint32_t kDownloadsMax = 16;

/// Counts one download as long as it lives.
class Download {
 public:
  explicit Download(Downloads all) : all_(std::move(all)), admitted_(++*all_ <= kDownloadsMax) {}
  ~Download() { --*all_; }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;
  bool is_admitted() const { return admitted_; }

 private:
  const Downloads all_;
  const bool admitted_;
};

class ClientRoute {
 public:
  ClientRoute(VectorStores& stores, const config::Config& config, const Pools& pools,
              Operation operation, Downloads downloads, http::Handler passing)
      : stores_(stores),
        config_(config),
        pools_(pools),
        operation_(operation),
        downloads_(std::move(downloads)),
        passing_(std::move(passing)) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const http::Request& request = exchange.request;
    std::optional<Download> download;
    if (request.path().ends_with("/content")) download.emplace(downloads_);
    if (download && !download->is_admitted()) {
      const Result<ApiReply> busy = fail(Code::kOverloaded, "too many files are being read");
      co_await answer(exchange, busy);
      co_return;
    }
    std::stop_source given_up;
    const uint64_t client = access::client_of(request, config_);
    const StoreCall call{stores_,
                         request,
                         access::owner_of(request.headers, config_),
                         {.stop = given_up.get_token(), .client = client}};
    Result<ApiReply> outcome = fail(Code::kOverloaded, "too many requests wait for vector stores");
    std::function<void()> work = [&] { outcome = operation_(call); };
    http::ThreadPool& pool = is_search(request) ? pools_.models : pools_.storage;
    const http::Share share{client};
    co_await http::run_within(pool, exchange.interrupt, given_up, std::move(work), share);
    if (exchange.interrupt.raised()) outcome = tl::unexpected(exchange.interrupt.error());
    if (outcome && outcome->passes && passing_) {
      download.reset();
      co_await passing_(exchange);
      co_return;
    }
    co_await answer(exchange, outcome);
  }

 private:
  static http::Task<> answer(http::Exchange exchange, const Result<ApiReply>& outcome) {
    if (!outcome && outcome.error().code == Code::kCancelled) {
      exchange.reply.abandon();
      co_return;
    }
    http::Headers fields;
    if (!outcome) {
      const ErrorReply error = error_reply(outcome.error());
      fields.add("Content-Type", "application/json");
      if (outcome.error().code == Code::kOverloaded) fields.add("Retry-After", "1");
      co_await exchange.reply.send(error.status, fields, error.body);
      co_return;
    }
    fields.add("Content-Type", outcome->content_type);
    fields.add("X-Content-Type-Options", "nosniff");
    co_await exchange.reply.send(200, fields, outcome->body);
  }

  VectorStores& stores_;
  const config::Config& config_;
  const Pools pools_;
  const Operation operation_;
  const Downloads downloads_;
  const http::Handler passing_;
};

http::Handler find_passing(std::span<const http::Route> passing, const ApiRoute& route) {
  for (const http::Route& each : passing) {
    if (each.method == route.method && each.path == route.path) return each.handler;
  }
  return nullptr;
}

admin::AdminReply not_enabled() {
  return {kNotServed, http::error_body(kNotServed,
                                       "global.stores.vector_store is not enabled, so no "
                                       "files and no vector stores are kept here")};
}

admin::AdminReply answer_operator(VectorStores* stores, const http::Request& request,
                                  Operation operation) {
  if (stores == nullptr) return not_enabled();
  const auto outcome = operation({*stores, request, std::string(vector_stores::kOperator)});
  if (!outcome) {
    ErrorReply error = error_reply(outcome.error());
    return {error.status, std::move(error.body)};
  }
  if (outcome->passes) {
    return {400, http::error_body(400,
                                  "purpose: expected assistants or user_data; the ids of such "
                                  "files begin with file-sb-")};
  }
  return {200, outcome->body, outcome->content_type};
}

/// Removes everything that the user in the query has. Operators may do that without the right to
/// read it.
admin::AdminReply remove_of_user(VectorStores* stores, const http::Request& request,
                                 const config::Config& config) {
  if (stores == nullptr) return not_enabled();
  const std::string user = admin::query_value(request.query(), "user_id");
  if (user.empty())
    return {400, http::error_body(400, "user_id: expected the user whose files are meant")};
  const auto removed = stores->remove_all(access::owner_of_user(user, config));
  admin::AdminReply out;
  if (removed) {
    out.body = deleted(*removed);
  } else {
    ErrorReply error = error_reply(removed.error());
    out = {error.status, std::move(error.body)};
  }
  out.subject = fmt::format("files and vector stores of {}", user);
  return out;
}

}  // namespace

std::vector<http::Route> client_routes(VectorStores& stores, const config::Config& config,
                                       const Pools& pools, std::span<const http::Route> passing) {
  std::vector<http::Route> out;
  const auto downloads = std::make_shared<std::atomic<uint32_t>>(0);
  for (const ApiRoute& route : api_routes()) {
    out.push_back({route.method, route.path,
                   ClientRoute(stores, config, pools, route.operation, downloads,
                               find_passing(passing, route))});
  }
  return out;
}

std::vector<http::Route> operator_routes(StoresOf stores, const serving::CurrentState& current,
                                         http::ThreadPool& pool) {
  std::vector<http::Route> out;
  for (const ApiRoute& route : api_routes()) {
    out.push_back(admin::management_route(
        route.method, route.path, route.changes ? access::kDataWrite : access::kReplayDetail,
        {access::kReplayDetail, is_search}, current, pool,
        [stores, operation = route.operation](const http::Request& request,
                                              const serving::ServingState&) {
          return answer_operator(stores(), request, operation);
        }));
  }
  out.push_back(admin::management_route(
      "DELETE", "/v1/files", access::kDataWrite, current, pool,
      [stores](const http::Request& request, const serving::ServingState& state) {
        return remove_of_user(stores(), request, state.config());
      }));
  return out;
}

}  // namespace signalbox::vector_store_api
