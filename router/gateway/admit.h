#pragma once
// The second stage, before any model runs: checks the identity and the rate limits. The limits of
// single models follow as soon as the plan names one.

#include <optional>
#include <string>
#include <string_view>

#include "router/gateway/gateway_context.h"
#include "router/limits/rate_limiter.h"
#include "router/spending/budgets.h"

namespace signalbox::gateway {

/// The client as the rules of rate limits see it.
limits::Requester requester_of(const config::Authz::Identity& identity,
                               const http::Headers& headers);

/// Why the client's key may not use this model or this recipe (""); nullopt if it may.
std::optional<std::string> find_forbidden(const RequestScope& scope, std::string_view recipe,
                                          std::string_view model);

/// Records who spends, and returns the finding of the budgets; nullopt: there is none.
std::optional<spending::Finding> admit_to_spend(RequestScope& scope,
                                                const limits::Requester& requester);

/// Counts the request against every limit that names no model; the refusal if one is reached.
std::optional<limits::RateRefusal> admit(const RequestScope& scope,
                                         const limits::Requester& requester);

/// Counts the request against the limits that name the model, and sets `requester.model` to it.
std::optional<limits::RateRefusal> admit_to_model(const RequestScope& scope, std::string_view model,
                                                  limits::Requester& requester);

/// Charges the tokens that the request has cost, once it has been answered.
void charge(const RequestScope& scope, const limits::Requester& requester);

}  // namespace signalbox::gateway
