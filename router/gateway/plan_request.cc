// Planning is a pure function of the evaluation; what changes from moment to moment comes in as
// runtime conditions.

#include "router/gateway/plan_request.h"

#include <chrono>
#include <random>
#include <utility>

#include "base/log.h"
#include "router/access/owner.h"

namespace signalbox::gateway {

namespace {

learning::Situation find_situation(const RequestScope& scope, const ParsedRequest& request) {
  return learning::situation_of(
      *scope.context.learning, scope.config().router.learning,
      access::owner_of(scope.headers(), scope.config()),
      [&scope](std::string_view name) { return scope.headers().find(name); }, request.chat,
      std::chrono::steady_clock::now());
}

}  // namespace

void find_conversation(RequestScope& scope, const ParsedRequest& request,
                       routing::Evaluation& evaluation) {
  if (scope.context.learning == nullptr) return;
  scope.learning = find_situation(scope, request);
  if (scope.learning->past) evaluation.set_previous_model(scope.learning->past->last.model);
}

void remember(const RequestScope& scope, const routing::Plan& plan) {
  const bool is_of_several = plan.loop != nullptr && plan.painter == nullptr;
  if (!scope.learning || plan.bypassed || is_of_several || plan.image != nullptr) return;
  learning::remember(
      *scope.context.learning, *scope.learning,
      {plan.model->name, plan.upstream_name, learning::scope_of(plan.recipe, plan.decision)});
}

routing::RuntimeConditions runtime_conditions(const RequestScope& scope,
                                              std::span<const std::string_view> failed) {
  const selection::RuntimeStats& stats = scope.context.stats;
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto now = std::chrono::steady_clock::now();
  return {[&stats, now](std::string_view model) { return stats.figures(model, now); },
          std::uniform_real_distribution<double>(0, 1)(random),
          failed,
          scope.cheapest,
          scope.key() == nullptr ? std::span<const std::string>() : scope.key()->models,
          {},
          scope.learning ? &*scope.learning : nullptr,
          std::uniform_int_distribution<uint32_t>()(random)};
}

Result<routing::Plan> plan_request(RequestScope& scope, const ParsedRequest& request,
                                   const routing::Evaluation& evaluation,
                                   const Understanding& understanding) {
  scope.record.understood(evaluation, understanding.degraded, understanding.why);
  Result<routing::Plan> plan = evaluation.plan(runtime_conditions(scope));
  // Do not refuse by policy a request that was never evaluated.
  if (plan && understanding.degraded == observe::Degraded::kOverloaded &&
      plan->path != routing::Plan::Path::kUpstream)
    plan = fail(Code::kOverloaded, "too many requests are waiting to be understood");
  if (!plan) return plan;
  scope.record.planned(*plan, evaluation.decision(), request.chat.stream);
  if (plan->drops() && request.replies) request.replies->keep_nothing();
  return plan;
}

void end_turn(const RequestScope& scope) {
  if (!scope.learning) return;
  scope.context.learning->conversations.touch(scope.learning->key,
                                              std::chrono::steady_clock::now());
}

void forget(const RequestScope& scope) {
  if (scope.learning) scope.context.learning->conversations.forget(scope.learning->key);
}

namespace {

// The reason why another model is tried. The log may have it: it has no text of the client.
std::string why_elsewhere(const upstream::CallOutcome& outcome) {
  if (!outcome.answer) return outcome.answer.error().message;
  return fmt::format("backend \"{}\" answered {}", outcome.backend,
                     (*outcome.answer)->head().status);
}

}  // namespace

std::optional<routing::Plan> plan_another_model(
    const RequestScope& scope, const ParsedRequest& request, const routing::Evaluation& evaluation,
    const routing::Plan& plan, const upstream::CallOutcome& outcome, Attempts& attempts) {
  attempts.servers += outcome.attempts;
  // A decision has one image server, so another model would call the same one again.
  if (!outcome.elsewhere || plan.image != nullptr) return std::nullopt;
  attempts.failed.push_back(plan.model->name);
  // The next plan has a body of its own while this one is still there.
  http::MemoryShare& memory = scope.exchange.request.memory;
  const uint64_t before = memory.bytes();
  if (memory.add(plan.body.size()) != http::Raise::kDone) return std::nullopt;
  Result<routing::Plan> next = evaluation.plan(runtime_conditions(scope, attempts.failed));
  if (!next || next->path != routing::Plan::Path::kUpstream) {
    memory.lower(before);
    return std::nullopt;
  }
  log::warn("chat", "{}: model \"{}\" failed: {}; trying \"{}\" instead", scope.record.id(),
            plan.model->name, why_elsewhere(outcome), next->model->name);
  scope.record.planned(*next, evaluation.decision(), request.chat.stream);
  return *std::move(next);
}

}  // namespace signalbox::gateway
