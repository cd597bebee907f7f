#pragma once
// From a plan to the reply at the client: the model's server is asked, another model where it does
// not answer, and what comes back is relayed in the client's form.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "router/api/answer_cache.h"
#include "router/api/compute.h"
#include "router/api/contexts.h"
#include "router/api/errors.h"
#include "router/api/observer.h"
#include "router/api/watch.h"
#include "router/http/server.h"
#include "router/limits/rate_limiter.h"
#include "router/plan_headers.h"
#include "router/reply_guards.h"
#include "router/router.h"
#include "router/selection/runtime_stats.h"
#include "router/surfaces/surface.h"
#include "router/upstream/caller.h"

namespace signalbox::api {

/// What the requests of one configuration share. All of it outlives them.
struct Services {
  const router::Router& router;
  const upstream::Caller& backends;
  Compute& compute;
  Compute& storage;  // what waits for disks and for servers that keep contexts
  router::selection::RuntimeStats& stats;  // is told how the models are doing, and asked for it
  const Observer& observer;                // is told of every request
  AnswerCache& cache;                      // keeps the answers of decisions that want it
  Contexts& contexts;                      // that requests refer to
  limits::RateLimiter& limiter;            // how often users may ask
  const router::ReplyGuards& guards;       // know what of a reply is watched
  std::chrono::milliseconds follow_max = CacheTurn::kFollowMax;
};

/// A request as it is decided on, and what its replies become; null: what they are.
struct Asked {
  router::ChatRequest chat;
  std::unique_ptr<surfaces::ReplyTranslator> replies;
};

/// The API that a request came by.
struct Face {
  const surfaces::Surface* surface = nullptr;  // null: chat completions themselves
  const ErrorShape* shape = nullptr;           // of its errors
};

void add_headers(const std::vector<router::Header>& headers, http::Headers& fields);

/// How the models are doing now, and a number drawn; `failed`: models that are not to be asked.
router::Circumstances circumstances_of(const router::selection::RuntimeStats& stats,
                                       std::span<const std::string_view> failed = {});

/// Who asks for a model; `client`: the headers that asked.
limits::Asker asker_of(const config::Authz::Identity& identity, const http::Headers& client,
                       std::string_view model);

/// What a reply says of the way its request took; `client`: the headers that asked.
http::Headers told_of(const router::Plan& plan, const http::Headers& client, const Watch& watch);

/// One request whose plan names a model. Lives on the request's loop until it is answered;
/// everything given lives longer.
class Forwarding {
 public:
  Forwarding(const Services& services, http::Exchange exchange, const Asked& asked,
             router::Evaluation evaluation, const Face& face, Watch& watch)
      : services_(services),
        exchange_(exchange),
        asked_(asked),
        evaluation_(std::move(evaluation)),
        face_(face),
        watch_(watch) {}

  /// Answers the exchange, whatever happens.
  http::Task<> run(router::Plan plan);

 private:
  struct Outgoing;
  using AnswerOr = Result<std::unique_ptr<upstream::Answer>>;

  Result<Outgoing> outgoing(const router::Plan& plan) const;
  http::Task<std::optional<router::Plan>> ask(const router::Plan& plan);
  http::Task<bool> repeat(CacheTurn& turn, const router::Plan& plan, const Outgoing& out,
                          http::Headers& told);
  http::Task<> relay_as(upstream::Answer& answer, const Outgoing& out, const http::Headers& told);
  http::Task<AnswerOr> shaped(std::unique_ptr<upstream::Answer> answer, const router::Plan& plan,
                              const Outgoing& out, CacheTurn& turn,
                              std::chrono::steady_clock::time_point started, http::Headers& told);
  http::Task<AnswerOr> dressed(std::unique_ptr<upstream::Answer> answer, const Outgoing& out,
                               http::Headers& told);
  std::optional<router::Plan> successor(const upstream::Outcome& outcome, const router::Plan& plan);
  http::Task<> refuse(const Error& error, const http::Headers& told);
  http::Task<bool> is_limited(const router::Plan& plan);
  void charge() const;

  const Services& services_;
  http::Exchange exchange_;
  const Asked& asked_;
  std::optional<router::Evaluation> evaluation_;  // until a reply begins
  const Face face_;
  Watch& watch_;
  std::optional<router::WatchedReply> watched_;
  std::vector<std::string_view> failed_;  // models that have not answered, in turn
  uint32_t attempts_ = 0;                 // servers that were asked
  limits::Asker asker_;                   // where rates are limited
};

}  // namespace signalbox::api
