#pragma once
// Replies that no model gives: errors, refusals, the fixed answers of decisions, and the beginning
// of a stream that waits for its answer.

#include <chrono>
#include <string_view>

#include "router/config/services.h"
#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/gateway/relay.h"
#include "router/limits/rate_limiter.h"
#include "router/looper/run.h"
#include "router/replies/reply_guards.h"
#include "router/routing/decision_headers.h"
#include "router/routing/plan.h"
#include "router/spending/budgets.h"

namespace signalbox::gateway {

void add_headers(const std::vector<routing::Header>& headers, http::Headers& fields);

/// The same headers with another x-vsr-response-path.
http::Headers with_path(const http::Headers& headers, std::string_view path);

/// The same headers with another value of the one of this name, which they have.
http::Headers with_value(const http::Headers& headers, std::string_view name,
                         std::string_view value);

/// True if the client requests the headers that explain a decision (x-vsr-debug: true).
bool requests_debug_headers(const http::Headers& client);

/// The headers of a reply to a request that has a plan.
http::Headers decision_headers(const RequestScope& scope, const routing::Plan& plan);
/// The headers of a reply to a request that has none.
http::Headers undecided_headers(const RequestScope& scope);

/// Answers 415.
http::Task<> send_unsupported_encoding(const RequestScope& scope, std::string_view encoding);

/// Answers an error with `headers`, or closes the connection if the client has gone. Without
/// `headers` the request got no plan, and the error may quote the request, so that it is not
/// logged.
http::Task<> send_error(const RequestScope& scope, const Error& error);
http::Task<> send_error(const RequestScope& scope, const Error& error,
                        const http::Headers& headers);

/// Ends a stream that has begun without an answer with the events of an error, or closes the
/// connection if the client has gone.
http::Task<> break_off(const RequestScope& scope, const Error& error, const BrokenStream* broken);

/// The stream of a client whose answer needs several calls. Proxies and clients give up a silent
/// connection, often after a minute, so the stream begins before there is an answer, and comments
/// keep it alive. It does not begin at once: until it does, an error may still get its HTTP status,
/// and the headers may name the model that answered. Belongs to one request and its loop's thread.
/// All arguments outlive it.
class EarlyStream {
 public:
  using Clock = std::chrono::steady_clock;

  /// `decided` are the decision headers; those of an answer are left out. `watched`: null, or the
  /// checks of the reply.
  EarlyStream(const RequestScope& scope, const http::Headers& decided, const routing::Plan& plan,
              const replies::WatchedReply* watched);

  /// When write() must be called next.
  Clock::time_point due() const { return due_; }
  /// Begins the stream, and adds a comment with `progress` if it had begun before. Returns false if
  /// the client has gone.
  http::Task<bool> write(std::string_view progress);
  /// Looks again soon, because no server has the request yet.
  void postpone();

 private:
  http::Reply& reply_;
  const config::Looper::Waiting& times_;
  http::Headers fields_;
  Clock::time_point due_;
};

/// Adds x-vsr-looper-*, and the model that answered to `fields`. null: no model did.
void add_looper_headers(const looper::Run& run, const routing::Plan& plan,
                        std::chrono::milliseconds elapsed, const config::Model* model,
                        http::Headers& fields);

/// The headers that only an answer has, as trailers of a stream that began without them. It has no
/// effect for a client that does not accept trailers.
void trail_headers(const RequestScope& scope, const http::Headers& fields);

/// Answers 429 with Retry-After.
http::Task<> send_limited(const RequestScope& scope, const limits::RateRefusal& refusal,
                          const http::Headers& headers);

/// Answers 429 with the time at which the budget is renewed.
http::Task<> send_over_budget(const RequestScope& scope, const spending::Finding& finding);

/// Answers 403: the configuration requires an identity, and the request has none.
http::Task<> send_nameless(const RequestScope& scope);

/// Answers 403: the client's key may not do this.
http::Task<> send_forbidden(const RequestScope& scope, std::string_view message);

/// Answers a plan that needs no model: 403 if it is blocked, otherwise its fixed answer in the
/// client's API. Precondition: plan.path is not kUpstream.
http::Task<> send_planned(const RequestScope& scope, const ParsedRequest& request,
                          const routing::Plan& plan);

/// Answers a request that a guard had no time to judge: 503 with Retry-After.
http::Task<> send_unjudged(const RequestScope& scope, const Error& error);

}  // namespace signalbox::gateway
