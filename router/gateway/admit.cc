// Limits are counted twice on purpose: those without a model protect the models that understand
// requests, so they cannot wait for the plan.

#include "router/gateway/admit.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/json_writer.h"

namespace signalbox::gateway {

limits::Requester requester_of(const config::Authz::Identity& identity,
                               const http::Headers& headers) {
  return {
      .user = std::string(config::identity_of(headers.find(identity.user_id_header).value_or(""))),
      .groups = std::string(headers.find(identity.user_groups_header).value_or(""))};
}

std::optional<std::string> find_forbidden(const RequestScope& scope, std::string_view recipe,
                                          std::string_view model) {
  if (scope.key() == nullptr) return std::nullopt;
  const auto may = [](const std::vector<std::string>& allowed, std::string_view name) {
    return allowed.empty() || std::ranges::find(allowed, name) != allowed.end();
  };
  const config::ClientKey& key = *scope.key();
  const std::string_view kind = key.is_token ? "token" : "key";
  if (!recipe.empty() && !may(key.recipes, recipe))
    return fmt::format("the {} \"{}\" may not use the recipe \"{}\"", kind, key.name, recipe);
  if (recipe.empty() && !may(key.models, model)) {
    return fmt::format("the {} \"{}\" may not use the model {}", kind, key.name,
                       json::quote_briefly(model));
  }
  return std::nullopt;
}

std::optional<spending::Finding> admit_to_spend(RequestScope& scope,
                                                const limits::Requester& requester) {
  const std::string_view key = scope.key() == nullptr ? std::string_view() : scope.key()->name;
  // The record needs them without a ledger, too: records are deleted by user and by key.
  scope.record.set_spender(key, requester.user, requester.groups);
  const spending::Ledger* ledger = scope.context.ledger;
  if (ledger == nullptr) return std::nullopt;
  auto found =
      spending::judge(scope.config().spending->budgets, *ledger,
                      {key, requester.user, requester.groups}, std::chrono::system_clock::now());
  if (found) scope.budget = spending::header_of(*found);
  return found;
}

namespace {

/// The limits of a key, and the client that they count. The key's name is in the rules, because the
/// limiter distinguishes rules by their content.
struct KeyLimit {
  config::RateLimit limit;
  limits::Requester requester;
};

std::optional<KeyLimit> limit_of(const RequestScope& scope) {
  const config::ClientKey* key = scope.key();
  if (key == nullptr || key->limits.empty()) return std::nullopt;
  std::vector<config::RateLimit::Rule> rules = key->limits;
  for (config::RateLimit::Rule& rule : rules) rule.name = "key " + key->name;
  return KeyLimit{config::local_limit(std::move(rules)), {}};
}

}  // namespace

std::optional<limits::RateRefusal> admit(const RequestScope& scope,
                                         const limits::Requester& requester) {
  const auto now = std::chrono::steady_clock::now();
  const std::optional<KeyLimit> of_key = requester.model.empty() ? limit_of(scope) : std::nullopt;
  if (of_key) {
    if (auto refused = scope.context.limiter.admit(of_key->limit, of_key->requester, now))
      return refused;
  }
  const config::RateLimit& limit = scope.config().ratelimit;
  if (limit.providers.empty()) return std::nullopt;
  return scope.context.limiter.admit(limit, requester, now);
}

std::optional<limits::RateRefusal> admit_to_model(const RequestScope& scope, std::string_view model,
                                                  limits::Requester& requester) {
  requester.model = model;
  return admit(scope, requester);
}

void charge(const RequestScope& scope, const limits::Requester& requester) {
  const config::RateLimit& limit = scope.config().ratelimit;
  const std::optional<KeyLimit> of_key = limit_of(scope);
  if (limit.providers.empty() && !of_key) return;
  const uint64_t tokens = scope.record.tokens_taken();
  if (tokens == 0) return;
  const auto now = std::chrono::steady_clock::now();
  scope.context.limiter.charge(limit, requester, tokens, now);
  if (of_key) scope.context.limiter.charge(of_key->limit, of_key->requester, tokens, now);
}

}  // namespace signalbox::gateway
