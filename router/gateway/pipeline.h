#pragma once
// The way of a request through the gateway. Every API in front (chat completions, completions,
// messages, responses) and Envoy's ext_proc take it. `route` and `explain` check the identity,
// understand and plan.
//
//   read         bytes -> ParsedRequest         read_request.h
//   admit        identity and rate limits       admit.h
//   understand   signals -> Evaluation          understand.h, routing/evaluation
//   plan         Evaluation -> Plan             plan_request.h, routing/planner
//   look up      Plan -> cached reply           cache_lookup.h
//   send         Plan -> server's reply         send.h, loop.h for several models
//   relay        reply -> client                reply_filters.h, relay.h
//   record       metrics, trace, log, replay    request_record.h
//
// If reading may load stored state from a server, the checks of `admit` that need no body come
// first.

#include <optional>
#include <string_view>

#include "router/gateway/gateway_context.h"
#include "router/gateway/loop.h"
#include "router/gateway/plan_request.h"
#include "router/gateway/read_request.h"
#include "router/gateway/reply_filters.h"
#include "router/http/routes.h"

namespace signalbox::gateway {

/// The handler of one API. Immutable; one instance serves all requests of a route.
class Pipeline {
 public:
  Pipeline(const GatewayContext& context, ClientApi api)
      : context_(context), api_(std::move(api)) {}

  /// Answers the exchange, whatever happens. Runs on the loop of the request.
  http::Task<> operator()(http::Exchange exchange) const;

 private:
  /// The request, and what is spent on it, across the models that are tried for it.
  struct Journey {
    const RequestScope& scope;
    const ParsedRequest& request;
    std::optional<routing::Evaluation> evaluation;  // until a reply begins
    limits::Requester requester;
    RequestShadows& shadows;
    Attempts attempts = {};
  };

  static http::Task<bool> refuse_unread(RequestScope& scope, const limits::Requester& requester);
  static http::Task<bool> refuse_over_limit(RequestScope& scope,
                                            const limits::Requester& requester);
  http::Task<std::optional<routing::Plan>> answer_by_plan(Journey& journey,
                                                          const routing::Plan& plan) const;
  http::Task<std::optional<routing::Plan>> try_model(Journey& journey,
                                                     const routing::Plan& plan) const;
  http::Task<std::optional<routing::Plan>> call_several(Journey& journey,
                                                        const routing::Plan& plan) const;
  http::Task<> relay_composed(const ReplyFilterInputs& inputs, LoopAnswer answer) const;
  http::Task<Result<ServerRequest>> request_for_server(Journey& journey, const routing::Plan& plan,
                                                       http::Headers& headers) const;
  http::Task<bool> answer_from_cache(Journey& journey, const ReplyFilterInputs& inputs) const;
  http::Task<> relay_filtered(const ReplyFilterInputs& inputs,
                              const std::vector<ReplyFilter>& filters, ReplyOrError reply,
                              std::chrono::milliseconds keep_alive = {}) const;
  http::Task<> send_failure(const ReplyFilterInputs& inputs, const Error& error) const;

  const GatewayContext context_;
  const ClientApi api_;
};

/// POST /v1/chat/completions.
http::Route chat_route(const GatewayContext& context);

/// POST to `path`, which is static, in another API. The dialect outlives the route.
http::Route dialect_route(std::string_view path, const dialects::Dialect& dialect,
                          const GatewayContext& context);

}  // namespace signalbox::gateway
