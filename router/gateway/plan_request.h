#pragma once
// The fourth stage: a plan from the evaluated request, and another plan if the servers of the
// planned model do not answer.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/gateway/understand.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

/// Sets scope.learning, if anything is learnt, and the evaluation's previous model.
void find_conversation(RequestScope& scope, const ParsedRequest& request,
                       routing::Evaluation& evaluation);
/// Records that the plan's model answers the conversation, if something is learnt.
void remember(const RequestScope& scope, const routing::Plan& plan);
/// Records that the answer has ended: the client may take its time from now on.
void end_turn(const RequestScope& scope);
/// Records that several models answer the conversation, so that none of them is kept.
void forget(const RequestScope& scope);

/// How the models are doing now, a random number, and the models that the client may use; `failed`
/// are models that did not answer.
routing::RuntimeConditions runtime_conditions(const RequestScope& scope,
                                              std::span<const std::string_view> failed = {});

/// Records what was understood and plans. If the plan stores nothing, the request's translator does
/// not either. Errors: those of Evaluation::plan(), and kOverloaded for a request that the plan
/// would answer without a model, although it was never evaluated.
Result<routing::Plan> plan_request(RequestScope& scope, const ParsedRequest& request,
                                   const routing::Evaluation& evaluation,
                                   const Understanding& understanding);

/// The models of one request that did not answer, and the servers that were tried.
struct Attempts {
  std::vector<std::string_view> failed;
  uint32_t servers = 0;
};

/// The plan for another model if the servers of the plan's model refused and there is one.
std::optional<routing::Plan> plan_another_model(
    const RequestScope& scope, const ParsedRequest& request, const routing::Evaluation& evaluation,
    const routing::Plan& plan, const upstream::CallOutcome& outcome, Attempts& attempts);

}  // namespace signalbox::gateway
