// Limits are counted twice on purpose: those without a model protect the models that understand
// requests, so they cannot wait for the plan.

#include "router/gateway/admit.h"

#include <chrono>
#include <string>

#include "router/config/access.h"

namespace signalbox::gateway {

limits::Requester requester_of(const config::Authz::Identity& identity,
                               const http::Headers& headers) {
  return {
      .user = std::string(config::identity_of(headers.find(identity.user_id_header).value_or(""))),
      .groups = std::string(headers.find(identity.user_groups_header).value_or(""))};
}

std::optional<limits::RateRefusal> admit(const RequestScope& scope,
                                         const limits::Requester& requester) {
  const config::RateLimit& limit = scope.config().ratelimit;
  if (limit.providers.empty()) return std::nullopt;
  return scope.context.limiter.admit(limit, requester, std::chrono::steady_clock::now());
}

std::optional<limits::RateRefusal> admit_to_model(const RequestScope& scope, std::string_view model,
                                                  limits::Requester& requester) {
  requester.model = model;
  return admit(scope, requester);
}

void charge(const RequestScope& scope, const limits::Requester& requester) {
  const config::RateLimit& limit = scope.config().ratelimit;
  if (limit.providers.empty()) return;
  if (const uint64_t tokens = scope.record.tokens_taken(); tokens != 0)
    scope.context.limiter.charge(limit, requester, tokens, std::chrono::steady_clock::now());
}

}  // namespace signalbox::gateway
