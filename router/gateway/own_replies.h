#pragma once
// Replies that no model gives: errors, refusals, and the fixed answers of decisions.

#include <string_view>

#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/limits/rate_limiter.h"
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
bool wants_debug_headers(const http::Headers& client);

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
