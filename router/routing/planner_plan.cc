// The second time that the planner is asked: a model out of the candidates, and the edits for it.
// Edits are collected and applied once; what the plan leaves alone goes out as it came.

#include <algorithm>

#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/plugins/reasoning/reasoning.h"
#include "router/plugins/request_params/request_params.h"
#include "router/plugins/system_prompt/system_prompt.h"
#include "router/plugins/tools/tools.h"
#include "router/routing/planner.h"
#include "router/routing/selection/pii_policy.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::routing {
namespace {

tl::unexpected<Error> unknown_model(const config::Config& config, std::string_view name) {
  std::string known;
  for (const std::string& each : config.auto_model_names)
    known += (known.empty() ? "" : ", ") + each;
  for (const config::Entrypoint& entrypoint : config.entrypoints) {
    for (const std::string& each : entrypoint.model_names) known += ", " + each;
  }
  for (const config::Model& model : config.providers.models) known += ", " + model.name;
  return fail(Code::kNotFound, "model: unknown model {} (known: {})", json::quote_briefly(name),
              known);
}

Plan::Guarded guarded_by(const std::vector<MatchedCondition>& grounds) {
  Plan::Guarded out;
  for (const MatchedCondition& ground : grounds) {
    if (ground.type == "jailbreak" &&
        (out.jailbreak.empty() || ground.confidence > out.jailbreak_confidence)) {
      out.jailbreak = ground.name;
      out.jailbreak_confidence = ground.confidence;
    }
    if (ground.type != "pii") continue;
    out.pii = true;
    for (const std::string_view type : ground.evidence) {
      if (std::find(out.pii_types.begin(), out.pii_types.end(), type) == out.pii_types.end())
        out.pii_types.emplace_back(type);
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

// Those that the request could have gone to come first, then those that the file names for the
// case. True for the latter: no selector knows them, and they are asked in the order of the file.
bool Planner::remove_failed(std::span<const std::string_view> failed,
                            Candidates& candidates) const {
  const auto has_failed = [failed](std::string_view name) {
    return std::find(failed.begin(), failed.end(), name) != failed.end();
  };
  std::erase_if(candidates, [&](const auto& each) { return has_failed(each.model->name); });
  if (!candidates.empty()) return false;
  for (const std::string_view name : failed) {
    const config::Model* model = config_.providers.find(name);
    if (model == nullptr || !model->reliability) continue;
    for (const std::string& other : model->reliability->fallback_models) {
      const auto ref = std::find_if(plain_refs_.begin(), plain_refs_.end(),
                                    [&](const auto& each) { return each.model == other; });
      if (ref != plain_refs_.end() && !has_failed(other)) candidates.push_back(candidate(*ref));
    }
  }
  return true;
}

// A model that may not see what the request holds is no candidate, nor is one of which that cannot
// be said.
void Planner::remove_restricted(const ModelResults& prepared, Candidates& candidates,
                                Plan& plan) const {
  std::vector<std::string> denied;
  std::erase_if(candidates, [&](const selection::Candidate& each) {
    if (!selection::restricts(*each.model)) return false;
    if (!prepared.looked_for_pii) {
      plan.left_out.push_back(
          {each.model->name, "it has a pii_policy, and personal data could not be looked for"});
      return true;
    }
    const std::vector<std::string> types = selection::denied_types(*each.model, prepared.pii_types);
    if (types.empty()) return false;
    plan.left_out.push_back(
        {each.model->name, fmt::format("its pii_policy does not allow {}", joined(types))});
    for (const std::string& type : types) {
      if (std::find(denied.begin(), denied.end(), type) == denied.end()) denied.push_back(type);
    }
    return true;
  });
  if (!candidates.empty()) return;
  plan.path = Plan::Path::kBlocked;
  plan.guarded.pii = true;
  plan.message = prepared.looked_for_pii
                     ? fmt::format(
                           "the request holds personal data that no model of its route "
                           "may see: {}",
                           joined(denied))
                     : "personal data could not be looked for, and no model of the request's route "
                       "may see all";
  plan.guarded.pii_types = std::move(denied);
}

Result<selection::Candidate> Planner::chosen(const PlanInputs& findings, const Candidates& left,
                                             Plan& plan) const {
  const config::Decision* decision = findings.subject.decision;
  if (decision == nullptr || left.size() < 2) return left.front();
  const selection::Selector* selector = selector_of(findings.subject);
  SIGNALBOX_CHECK(selector != nullptr);
  std::vector<std::string_view> domains;
  for (const MatchedCondition& ground : findings.grounds) {
    if (ground.type == "domain") domains.push_back(ground.name);
  }
  std::vector<selection::Figures> figures;
  if (selector->needs_figures() && findings.circumstances.figures) {
    for (const selection::Candidate& each : left)
      figures.push_back(findings.circumstances.figures(each.model->name));
  }
  auto choice = selector->choose(left, {.decision = decision->name,
                                        .domains = domains,
                                        .query = findings.prepared.query,
                                        .figures = figures,
                                        .draw = findings.circumstances.draw});
  if (!choice)
    return fail_in(fmt::format("decision \"{}\"", decision->name), std::move(choice).error());
  plan.selection_method = selector->method();
  plan.selection_reason = std::move(choice->reason);
  return left[choice->candidate];
}

// Reasoning can be switched off where there is none, and on only where the family says how.
void Planner::set_reasoning_of(const config::ModelRef& ref,
                               const config::DifficultyCase* difficulty, const PlanInputs& findings,
                               Plan& plan) const {
  std::optional<bool> on = ref.use_reasoning;
  const bool by_domain =
      std::any_of(findings.grounds.begin(), findings.grounds.end(),
                  [](const MatchedCondition& ground) { return ground.type == "domain"; });
  if (doubt_ && by_domain) {
    if (const std::optional<bool> verdict = doubt_->reasons(findings.inputs)) on = verdict;
  }
  if (difficulty != nullptr && difficulty->use_reasoning) on = difficulty->use_reasoning;
  const bool has_effort = difficulty != nullptr && !difficulty->reasoning_effort.empty();
  if (has_effort && !on) on = true;
  if (!plan.model->reasoning_family.empty() || on == false) plan.reasoning = on;
  if (plan.reasoning != true) return;
  plan.reasoning_effort = config_.providers.default_reasoning_effort;
  if (!ref.reasoning_effort.empty()) plan.reasoning_effort = ref.reasoning_effort;
  if (has_effort) plan.reasoning_effort = difficulty->reasoning_effort;
}

std::string Planner::edited(const PlanInputs& findings, const config::DifficultyCase* difficulty,
                            const plugins::ToolChoice* tools, const Plan& plan) const {
  const request::ChatRequest& request = findings.inputs.request();
  const config::Decision* decision = findings.subject.decision;
  const std::optional<plugins::Masked>& masked = findings.prepared.masked;
  const json::Document& document = masked ? masked->body : request.document;
  const json::Value root = document.root();
  std::vector<splice::Edit> edits;
  splice::ObjectEditor body(root);
  if (tools != nullptr) plugins::put_chosen_tools(*tools, body);
  if (decision != nullptr) {
    plugins::limit_params(decision->request_params ? &*decision->request_params : nullptr,
                          difficulty == nullptr ? std::nullopt : difficulty->max_tokens,
                          *plan.model, root, body);
    if (decision->tools) plugins::filter_tools(*decision->tools, body);
  }
  if (request.model != plan.asked_for) body.set("model", json::quote(plan.asked_for));
  if (plan.injected_system_prompt)
    plugins::add_system_prompt(*decision->system_prompt, *root.find("messages"), edits);
  if (plan.reasoning && !plan.model->reasoning_family.empty()) {
    const config::ReasoningFamily& family =
        config_.providers.reasoning_families.at(plan.model->reasoning_family);
    plugins::set_reasoning(family, *plan.model, *plan.reasoning, plan.reasoning_effort, body,
                           edits);
  }
  body.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

// With one model there is nothing to choose, and a cascade or a rating of one is that one.
bool Planner::needs_unbuilt(const config::Decision& decision) const {
  const std::string& type = decision.algorithm.type;
  const bool is_one_of_many = type == "remom" || type == "fusion" || type == "workflows";
  if (decision.model_refs.size() < 2) return is_one_of_many;
  return selectors_.at(&decision) == nullptr;
}

std::optional<Plan> Planner::refuse_stranger(const signals::Inputs& inputs) const {
  const config::Authz::Identity& identity = config_.authz.identity;
  if (!config::refuses_stranger(config_, inputs.header(identity.user_id_header).value_or(""),
                                inputs.header(identity.user_groups_header).value_or("")))
    return std::nullopt;
  Plan plan;
  plan.path = Plan::Path::kBlocked;
  plan.guarded.missing_identity = true;
  plan.message = config::stranger_message(config_);
  return plan;
}

Result<Plan> Planner::plan(const PlanInputs& findings) const {
  const config::Decision* decision = findings.subject.decision;
  Plan plan;
  plan.bypassed = findings.subject.bypassed;
  if (plan.bypassed && findings.subject.named == nullptr)
    return unknown_model(config_, findings.inputs.request().model);
  if (std::optional<Plan> refused = refuse_stranger(findings.inputs)) {
    refused->bypassed = plan.bypassed;
    return *std::move(refused);
  }
  if (decision != nullptr) {
    plan.decision = decision->name;
    plan.category = decision->name;
    plan.confidence = findings.confidence;
    plan.algorithm = decision->algorithm.type;
    if (decision->fast_response) {
      plan.path = Plan::Path::kFastResponse;
      plan.message = decision->fast_response->message;
      plan.guarded = guarded_by(findings.grounds);
      return plan;
    }
    if (!decision->missing_plugins.empty()) {
      return fail(Code::kUnsupported, "decision \"{}\" needs the plugin {}, which is not built yet",
                  decision->name, decision->missing_plugins.front());
    }
    if (needs_unbuilt(*decision)) {
      return fail(Code::kUnsupported,
                  "decision \"{}\" needs the algorithm {}, which is not built yet", decision->name,
                  decision->algorithm.type);
    }
  }
  if (masks(findings.subject) && !findings.prepared.masked) {
    plan.path = Plan::Path::kBlocked;
    plan.guarded.pii = true;
    plan.message = "personal data could not be looked for, and the request's route masks it";
    return plan;
  }
  Candidates left = candidates(findings.subject);
  bool in_turn = false;
  if (const auto failed = findings.circumstances.failed; !failed.empty()) {
    in_turn = remove_failed(failed, left);
    plan.instead_of.assign(failed.begin(), failed.end());
    if (left.empty()) return fail(Code::kUpstream, "there is no other model to ask");
  }
  remove_restricted(findings.prepared, left, plan);
  if (plan.path == Plan::Path::kBlocked) return plan;
  if (in_turn) left.erase(left.begin() + 1, left.end());
  SIGNALBOX_TRY(const selection::Candidate choice, chosen(findings, left, plan));
  const config::ModelRef& ref = *choice.ref;
  plan.model = choice.model;
  plan.asked_for = ref.lora_name.empty() ? plan.model->provider_model_id : ref.lora_name;
  const config::DifficultyCase* difficulty = nullptr;
  if (decision != nullptr) {
    difficulty = difficulty_.find(*decision, findings.values);
    set_reasoning_of(ref, difficulty, findings, plan);
    plan.injected_system_prompt = decision->system_prompt && decision->system_prompt->enabled;
    if (decision->header_mutation) plan.header_mutation = &*decision->header_mutation;
    if (config::keeps_answers(config_.response_cache, *decision))
      plan.response_cache = &*decision->response_cache;
  }
  const request::ChatRequest& request = findings.inputs.request();
  const plugins::ToolSelector* selector = tool_selector_of(findings.subject, request);
  std::optional<plugins::ToolChoice> tool_choice;
  if (selector != nullptr) {
    tool_choice =
        selector->choose(request, findings.prepared.tools, plan.category, findings.confidence);
    plan.tools = tool_choice->report;
    plugins::count(plan.tools);
  }
  plan.body = edited(findings, difficulty, tool_choice ? &*tool_choice : nullptr, plan);
  if (findings.prepared.masked) plan.masks = findings.prepared.masked->masks;
  watch_reply(findings, plan);
  return plan;
}

// What is not known to need no check is checked.
void Planner::watch_reply(const PlanInputs& findings, Plan& plan) const {
  const config::Decision* reached = findings.subject.decision;
  if (reached == nullptr) return;
  if (grounds(findings.subject)) {
    decision::Value facts = decision::Value::unknown();
    if (facts_ != decision::kNoSignal) facts = findings.values[facts_];
    plan.asks_facts = facts.is_match();
    if (facts.high != decision::Truth::kNo) plan.grounding = &*reached->hallucination;
  }
  if (reached->response_jailbreak && reached->response_jailbreak->enabled)
    plan.jailbreak = &*reached->response_jailbreak;
}

}  // namespace signalbox::routing
