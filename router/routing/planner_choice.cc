// The planner's choice among the candidates that are left: the model that has called tools, the
// cheapest one, several models, or the algorithm's choice, which learning may change.

#include <algorithm>
#include <tuple>
#include <utility>

#include "router/looper/looper.h"
#include "router/routing/planner.h"
#include "router/routing/selection/scores.h"

namespace signalbox::routing {
namespace {

using Candidates = std::vector<selection::Candidate>;

Candidates::const_iterator find_answerer(const Candidates& candidates,
                                         const learning::Answerer& answerer) {
  return std::find_if(candidates.begin(), candidates.end(), [&](const auto& each) {
    return each.model->name == answerer.model && upstream_name(each) == answerer.upstream_name;
  });
}

bool has_action(const PlanTarget& target) {
  return target.decision != nullptr && target.decision->action.is_set();
}

/// The features of the request with its signals; nullopt if the rules need none.
std::optional<learning::Features> features_of(const PlanInputs& inputs,
                                              const learning::Rules& rules) {
  if (!rules.needs_features()) return std::nullopt;
  std::optional<learning::Features> out = inputs.conditions.learning->features;
  if (!out) return out;
  for (const Plan::Matched& matched : inputs.signals) {
    for (const std::string& name : matched.names) out->add_signal(matched.type, name);
  }
  return out;
}

}  // namespace

// The model of one call: one of the decision, or another one of the configuration that its
// algorithm names.
Planner::Candidates Planner::voice(const PlanTarget& target, std::string_view name) const {
  const auto has_name = [name](const config::ModelRef& ref) { return ref.model == name; };
  for (const auto* refs : {&target.decision->model_refs, &plain_refs_}) {
    const auto found = std::find_if(refs->begin(), refs->end(), has_name);
    if (found != refs->end()) return {candidate(*found)};
  }
  return {};
}

// The model that must get the results of the tools that it has called; null if there is none. A
// model that the client names is its own choice, and an action is the operator's. A spent budget
// comes first: a loop of tools would go on at the price that the budget forbids.
const learning::Answerer* Planner::tool_caller(const PlanInputs& inputs) const {
  const learning::Situation* situation = inputs.conditions.learning;
  if (situation == nullptr || inputs.target.bypassed || inputs.conditions.cheapest ||
      !inputs.conditions.voice.empty() || has_action(inputs.target))
    return nullptr;
  return learning::tool_caller(*situation,
                               learning::rules_of(config_.router.learning, inputs.target.decision));
}

// The results may lead to a decision that does not have the model. If personal data, an attack or
// risky content leads there, its models are the operator's protection against it, and stay the only
// ones.
void Planner::add_tool_caller(const PlanInputs& inputs, Candidates& candidates) const {
  const learning::Answerer* found = tool_caller(inputs);
  if (found == nullptr) return;
  const learning::Answerer& caller = *found;
  if (std::ranges::any_of(inputs.matched, [](const MatchedCondition& condition) {
        return config::is_guard_signal(condition.type);
      }))
    return;
  if (find_answerer(candidates, caller) != candidates.end()) return;
  const auto add = [&](const config::ModelRef& ref) {
    if (ref.model != caller.model || upstream_name(candidate(ref)) != caller.upstream_name)
      return false;
    candidates.push_back(candidate(ref));
    return true;
  };
  for (const config::Decision& decision : routing_.decisions) {
    if (std::any_of(decision.model_refs.begin(), decision.model_refs.end(), add)) return;
  }
  std::ignore = std::any_of(plain_refs_.begin(), plain_refs_.end(), add);
}

void Planner::begin_loop(const config::Decision& decision, const Candidates& left,
                         Plan& plan) const {
  plan.loop = &decision;
  for (const selection::Candidate& each : left) {
    const std::string& name = each.model->name;
    const auto same = [&name](const looper::Voice& voice) { return voice.model == name; };
    if (std::any_of(plan.voices.begin(), plan.voices.end(), same)) continue;
    looper::Voice out;
    out.model = name;
    out.weight = each.ref->weight.value_or(1);
    if (each.card != nullptr) {
      out.size = looper::read_size(each.card->param_size);
      out.quality = each.card->quality_score;
    }
    out.price = selection::cost_of(each);
    plan.voices.push_back(std::move(out));
  }
  plan.selection_method = decision.algorithm.type;
  plan.selection_reason = looper::describe(decision, plan.voices);
}

// Returns the candidate that adaptation and protection make of the algorithm's choice.
size_t Planner::apply_learning(const PlanInputs& inputs, const Candidates& left,
                               const selection::Choice& choice, Plan& plan) const {
  const config::Decision& decision = *inputs.target.decision;
  std::vector<learning::Option> options;
  for (size_t i = 0; i < left.size(); ++i) {
    options.push_back({left[i].model->name, upstream_name(left[i]),
                       choice.scores.empty() ? std::nullopt : choice.scores[i]});
  }
  const learning::Rules rules = learning::rules_of(config_.router.learning, &decision);
  const size_t chosen =
      learning::choose(options, choice.candidate, learning::scope_of(inputs.recipe, decision.name),
                       *inputs.conditions.learning, rules, features_of(inputs, rules),
                       inputs.conditions.seed, plan.learning.emplace());
  if (chosen == choice.candidate) return chosen;
  plan.selection_method = plan.learning->holds() ? "protection" : "adaptation";
  plan.selection_reason = plan.learning->words();
  return chosen;
}

Result<selection::Candidate> Planner::choose(const PlanInputs& inputs, const Candidates& left,
                                             Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  if (const auto* caller = tool_caller(inputs)) {
    const auto found = find_answerer(left, *caller);
    if (found != left.end()) {
      const learning::Rules rules = learning::rules_of(config_.router.learning, decision);
      plan.learning = learning::tool_loop_report(*inputs.conditions.learning, rules);
      plan.learning->features = features_of(inputs, rules);
      plan.selection_method = "protection";
      plan.selection_reason = plan.learning->words();
      return *found;
    }
  }
  if (decision == nullptr || !inputs.conditions.voice.empty()) return left.front();
  if (has_action(inputs.target)) {
    plan.selection_method = "action";
    plan.selection_reason = "the decision's action names the model";
    if (left.front().model->name != decision->action.destination)
      plan.selection_reason = "the model of the decision's action cannot answer";
    return left.front();
  }
  if (inputs.conditions.cheapest && left.size() > 1) {
    plan.selection_method = "budget";
    plan.selection_reason = "the client's budget is spent, and this is the cheapest model";
    return *std::ranges::min_element(left, {}, [](const selection::Candidate& each) {
      const auto& price = each.model->pricing;
      return price ? std::pair(price->per_request, price->prompt_per_1m + price->completion_per_1m)
                   : std::pair(0.0, 0.0);
    });
  }
  if (config::calls_several(decision->algorithm, left.size())) {
    begin_loop(*decision, left, plan);
    return left.front();
  }
  if (left.size() < 2) return left.front();
  const selection::Selector* selector = selector_of(inputs.target);
  SIGNALBOX_CHECK(selector != nullptr);
  std::vector<std::string_view> domains;
  for (const MatchedCondition& condition : inputs.matched) {
    if (condition.type == "domain") domains.push_back(condition.name);
  }
  std::vector<selection::Figures> figures;
  if (selector->needs_figures() && inputs.conditions.figures) {
    for (const selection::Candidate& each : left)
      figures.push_back(inputs.conditions.figures(each.model->name));
  }
  auto choice = selector->choose(left, {.decision = decision->name,
                                        .domains = domains,
                                        .query = inputs.results.query,
                                        .figures = figures,
                                        .draw = inputs.conditions.draw});
  if (!choice)
    return fail_in(fmt::format("decision \"{}\"", decision->name), std::move(choice).error());
  plan.selection_method = selector->method();
  plan.selection_reason = std::move(choice->reason);
  if (inputs.conditions.learning == nullptr) return left[choice->candidate];
  return left[apply_learning(inputs, left, *choice, plan)];
}

}  // namespace signalbox::routing
