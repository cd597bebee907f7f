#pragma once
// From a plan to the reply at the client: the model's server is asked, another model where it does
// not answer, and what comes back is relayed in the client's form.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/gateway/answer_cache.h"
#include "router/gateway/contexts.h"
#include "router/gateway/observer.h"
#include "router/gateway/request_record.h"
#include "router/gateway/thread_pool.h"
#include "router/http/error_reply.h"
#include "router/http/server.h"
#include "router/limits/rate_limiter.h"
#include "router/replies/reply_guards.h"
#include "router/routing/decision_headers.h"
#include "router/routing/router.h"
#include "router/routing/selection/runtime_stats.h"
#include "router/upstream/model_caller.h"

namespace signalbox::gateway {

/// What the requests of one configuration share. All of it outlives them.
struct GatewayContext {
  const routing::Router& router;
  const upstream::ModelCaller& backends;
  ThreadPool& compute;
  ThreadPool& storage;                 // what waits for disks and for servers that keep contexts
  selection::RuntimeStats& stats;      // is told how the models are doing, and asked for it
  const Observer& observer;            // is told of every request
  AnswerCache& cache;                  // keeps the answers of decisions that want it
  Contexts& contexts;                  // that requests refer to
  limits::RateLimiter& limiter;        // how often users may ask
  const replies::ReplyGuards& guards;  // know what of a reply is watched
  std::chrono::milliseconds follow_max = CacheLookup::kFollowMax;
};

/// A request as it is decided on, and what its replies become; null: what they are.
struct ParsedRequest {
  request::ChatRequest chat;
  std::unique_ptr<dialects::ReplyTranslator> replies;
};

/// The API that a request came by.
struct ClientApi {
  const dialects::Dialect* surface = nullptr;  // null: chat completions themselves
  const http::ErrorShape* shape = nullptr;     // of its errors
};

void add_headers(const std::vector<routing::Header>& headers, http::Headers& fields);

/// How the models are doing now, and a number drawn; `failed`: models that are not to be asked.
routing::RuntimeConditions runtime_conditions(const selection::RuntimeStats& stats,
                                              std::span<const std::string_view> failed = {});

/// Who asks for a model; `client`: the headers that asked.
limits::Requester requester_of(const config::Authz::Identity& identity, const http::Headers& client,
                               std::string_view model);

/// What a reply says of the way its request took; `client`: the headers that asked.
http::Headers decision_headers(const routing::Plan& plan, const http::Headers& client,
                               const RequestRecord& watch);

/// One request whose plan names a model. Lives on the request's loop until it is answered;
/// everything given lives longer.
class Forwarding {
 public:
  Forwarding(const GatewayContext& services, http::Exchange exchange, const ParsedRequest& asked,
             routing::Evaluation evaluation, const ClientApi& face, RequestRecord& watch)
      : services_(services),
        exchange_(exchange),
        asked_(asked),
        evaluation_(std::move(evaluation)),
        face_(face),
        watch_(watch) {}

  /// Answers the exchange, whatever happens.
  http::Task<> run(routing::Plan plan);

 private:
  struct Outgoing;
  using ReplyOrError = Result<std::unique_ptr<upstream::UpstreamReply>>;

  Result<Outgoing> outgoing(const routing::Plan& plan) const;
  http::Task<std::optional<routing::Plan>> ask(const routing::Plan& plan);
  http::Task<bool> repeat(CacheLookup& turn, const routing::Plan& plan, const Outgoing& out,
                          http::Headers& told);
  http::Task<> relay_as(upstream::UpstreamReply& answer, const Outgoing& out,
                        const http::Headers& told);
  http::Task<ReplyOrError> shaped(std::unique_ptr<upstream::UpstreamReply> answer,
                                  const routing::Plan& plan, const Outgoing& out, CacheLookup& turn,
                                  std::chrono::steady_clock::time_point started,
                                  http::Headers& told);
  http::Task<ReplyOrError> dressed(std::unique_ptr<upstream::UpstreamReply> answer,
                                   const Outgoing& out, http::Headers& told);
  std::optional<routing::Plan> successor(const upstream::CallOutcome& outcome,
                                         const routing::Plan& plan);
  http::Task<> refuse(const Error& error, const http::Headers& told);
  http::Task<bool> is_limited(const routing::Plan& plan);
  void charge() const;

  const GatewayContext& services_;
  http::Exchange exchange_;
  const ParsedRequest& asked_;
  std::optional<routing::Evaluation> evaluation_;  // until a reply begins
  const ClientApi face_;
  RequestRecord& watch_;
  std::optional<replies::WatchedReply> watched_;
  std::vector<std::string_view> failed_;  // models that have not answered, in turn
  uint32_t attempts_ = 0;                 // servers that were asked
  limits::Requester requester_;           // where rates are limited
};

}  // namespace signalbox::gateway
