#pragma once
// Shared by the stages of a request: the parts of the daemon that they use, the API that the
// client speaks, and the request itself with its record.

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "router/access/owner.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/dialect.h"
#include "router/dialects/responses.h"
#include "router/flow_states/flow_states.h"
#include "router/gateway/answer_cache.h"
#include "router/gateway/contexts.h"
#include "router/gateway/request_record.h"
#include "router/http/error_reply.h"
#include "router/http/server.h"
#include "router/http/thread_pool.h"
#include "router/learning/situation.h"
#include "router/limits/rate_limiter.h"
#include "router/memories/memories.h"
#include "router/replies/reply_guards.h"
#include "router/routing/router.h"
#include "router/routing/selection/runtime_stats.h"
#include "router/shadow/shadows.h"
#include "router/spending/ledger.h"
#include "router/upstream/model_caller.h"

namespace signalbox::gateway {

/// How long a request waits at most for an equal one that is being answered.
inline constexpr std::chrono::seconds kFollowMax{60};

/// The shadows of one configuration.
struct ShadowUse {
  shadow::Shadows& all;
  std::unique_ptr<const shadow::Comparer> comparer;
  /// Keeps alive what the context of a request refers to.
  std::function<std::shared_ptr<const void>()> hold;
};

/// The parts of the daemon that the requests of one configuration use. All outlive the requests.
struct GatewayContext {
  const routing::Router& router;
  const upstream::ModelCaller& backends;
  http::ThreadPool& compute;       // runs models
  http::ThreadPool& reading;       // parses and copies large bodies
  http::ThreadPool& storage;       // waits for disks and for servers that keep contexts
  http::ThreadPool& detection;     // waits for servers that check replies
  selection::RuntimeStats& stats;  // latency and load of each model
  const Observer& observer;
  AnswerCache& cache;
  Contexts& contexts;
  limits::RateLimiter& limiter;
  const replies::ReplyGuards& guards;
  std::chrono::milliseconds follow_max = kFollowMax;
  const spending::Ledger* ledger = nullptr;        // null: spending is not counted
  learning::Memory* learning = nullptr;            // null: nothing is learnt
  const ShadowUse* shadows = nullptr;              // null: no decision sends shadows
  memories::Memories* memories = nullptr;          // null: nothing is remembered
  flow_states::FlowStates* flow_states = nullptr;  // null: no workflow waits for tools
};

/// The API of a route. Immutable.
class ClientApi {
 public:
  /// `path` is static. `dialect` outlives this; null for chat completions themselves.
  ClientApi(std::string_view path, const dialects::Dialect* dialect)
      : path_(path), dialect_(dialect) {
    if (path == dialects::kMessagesPath) native_ = request::Api::kMessages;
    if (path == dialects::kResponsesPath) native_ = request::Api::kResponses;
    if (dialect_ == nullptr) return;
    shape_ = [dialect](int status, std::string_view body) {
      return dialect->refusal(status, body);
    };
  }

  std::string_view path() const { return path_; }
  const dialects::Dialect* dialect() const { return dialect_; }
  /// True if reading a request may wait for a server.
  bool reads_slowly() const { return dialect_ != nullptr && dialect_->reads_slowly(); }
  /// The API as servers may have it, too; nullopt if they have only chat completions.
  std::optional<request::Api> native() const { return native_; }
  /// How errors are written; null for OpenAI's shape.
  const http::ErrorShape* error_shape() const { return dialect_ == nullptr ? nullptr : &shape_; }

 private:
  std::string_view path_;
  const dialects::Dialect* dialect_;
  std::optional<request::Api> native_;
  http::ErrorShape shape_;
};

/// One request on its way through the stages. Lives in the frame of Pipeline::operator().
struct RequestScope {
  const GatewayContext& context;
  const ClientApi& api;
  http::Exchange exchange;
  RequestRecord& record;
  std::string budget = {};                           // value of x-vsr-budget; "": none
  bool cheapest = false;                             // a budget of the client is spent
  std::optional<learning::Situation> learning = {};  // nullopt: nothing is learnt

  const config::Config& config() const { return context.router.config(); }
  const http::Headers& headers() const { return exchange.request.headers; }
  /// Null: the request has no key, and needs none.
  const config::ClientKey* key() const { return exchange.request.key.get(); }
  /// The request's share of a pool. `bytes` is the size of the work.
  http::Share share(size_t bytes, size_t long_bytes) const {
    return {access::client_of(exchange.request, config()), bytes > long_bytes};
  }
};

}  // namespace signalbox::gateway
