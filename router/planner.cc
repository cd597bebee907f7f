// Edits are collected and applied once; what the plan leaves alone goes out as it came.

#include "router/planner.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/plugins/edit.h"
#include "router/plugins/entropy.h"
#include "router/plugins/object_editor.h"
#include "router/plugins/pii_policy.h"
#include "router/plugins/reasoning.h"
#include "router/plugins/request_params.h"
#include "router/plugins/system_prompt.h"
#include "router/signals/factory.h"

namespace signalbox::router {
namespace {

constexpr double kDomainThreshold = 0.5;

tl::unexpected<Error> unknown_model(const config::Config& config, std::string_view name) {
  std::string known;
  for (const std::string& each : config.auto_model_names)
    known += (known.empty() ? "" : ", ") + each;
  for (const config::Model& model : config.providers.models) known += ", " + model.name;
  return fail(Code::kNotFound, "model: unknown model \"{}\" (known: {})", name, known);
}

Plan::Guarded guarded_by(const std::vector<Ground>& grounds) {
  Plan::Guarded out;
  for (const Ground& ground : grounds) {
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

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Whether a decision asks for the domain, other than under NOT.
bool asks_for_domain(const config::Rule& rule, std::string_view name) {
  if (rule.op == config::Rule::Operator::kNot) return false;
  if (rule.op == config::Rule::Operator::kLeaf) return rule.type == "domain" && rule.name == name;
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const config::Rule& each) { return asks_for_domain(each, name); });
}

bool stands_for(const config::DomainSignal& domain, std::string_view domain_class) {
  const auto& classes = domain.mmlu_categories;
  return lower_ascii(domain.name) == domain_class ||
         std::any_of(classes.begin(), classes.end(),
                     [&](const auto& each) { return lower_ascii(each) == domain_class; });
}

}  // namespace

Planner::Planner(const config::Config& config, const decision::NumberOf& number_of)
    : config_(config), difficulty_(config.routing, number_of) {
  for (const config::Model& model : config.providers.models) {
    config::ModelRef ref;
    ref.model = model.name;
    plain_refs_.push_back(std::move(ref));
  }
}

Result<Planner> Planner::create(const config::Config& config, const Models& models,
                                const decision::NumberOf& number_of) {
  Planner out(config, number_of);
  const auto& known = config.providers.models;
  if (std::any_of(known.begin(), known.end(), restricts)) {
    SIGNALBOX_TRY(ModelChoice pii, classifier_of(config, models, "pii"));
    if (pii.model != nullptr) out.pii_.emplace(std::move(pii));
    out.pii_threshold_ = config.modules.classifier.pii.threshold;
    if (out.pii_threshold_ <= 0) out.pii_threshold_ = PiiFinder::kDefaultThreshold;
  }
  if (config.router.entropy_reasoning) {
    SIGNALBOX_TRY(out.domain_, classifier_of(config, models, "domain"));
  }
  return out;
}

std::vector<std::string> Planner::notices() const {
  std::vector<std::string> out;
  for (const config::Model& model : config_.providers.models) {
    if (!restricts(model) || pii_) continue;
    out.push_back(
        fmt::format("{}: model \"{}\" has a pii_policy and there is no model that finds personal "
                    "data; it gets no requests",
                    config_.source, model.name));
  }
  if (config_.router.entropy_reasoning && domain_.model == nullptr) {
    out.push_back(fmt::format("{}: global.router.entropy_reasoning has no effect: {}",
                              config_.source, domain_.why));
  }
  return out;
}

Planner::Refs Planner::candidates(const Subject& subject) const {
  Refs refs;
  if (subject.decision != nullptr && !subject.decision->model_refs.empty()) {
    for (const config::ModelRef& ref : subject.decision->model_refs) refs.push_back(&ref);
    return refs;
  }
  const std::string& name =
      subject.named != nullptr ? subject.named->name : config_.providers.default_model;
  for (const config::ModelRef& ref : plain_refs_) {
    if (ref.model == name) refs.push_back(&ref);
  }
  SIGNALBOX_CHECK(!refs.empty());
  return refs;
}

bool Planner::looks_for_pii(const Subject& subject) const {
  if (!pii_ || (subject.decision != nullptr && subject.decision->fast_response)) return false;
  const auto refs = candidates(subject);
  return std::any_of(refs.begin(), refs.end(), [&](const config::ModelRef* ref) {
    return restricts(*config_.providers.find(ref->model));
  });
}

void Planner::mark_needed(const Subject& subject, std::span<const decision::Value> values,
                          std::vector<bool>& needed) const {
  if (subject.decision == nullptr || subject.decision->fast_response) return;
  difficulty_.mark_needed(*subject.decision, values, needed);
}

bool Planner::needs_models(const Subject& subject) const {
  return looks_for_pii(subject);
}

Result<void> Planner::prepare(const Subject& subject, Inputs& inputs, Prepared& prepared) const {
  if (!looks_for_pii(subject)) return {};
  std::vector<double> scores(pii_->types().size(), 0);
  for (const std::string_view text : inputs.request().texts()) {
    if (auto found = pii_->find(text, inputs, scores); !found)
      return fail_in("personal data", std::move(found).error());
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= pii_threshold_) prepared.pii_types.push_back(pii_->types()[i]);
  }
  prepared.looked_for_pii = true;
  return {};
}

// A model that may not see what the request holds is no candidate, nor is one of which that cannot
// be said.
void Planner::remove_restricted(const Prepared& prepared, Refs& candidates, Plan& plan) const {
  std::vector<std::string> denied;
  std::erase_if(candidates, [&](const config::ModelRef* ref) {
    const config::Model& model = *config_.providers.find(ref->model);
    if (!restricts(model)) return false;
    if (!prepared.looked_for_pii) return true;
    const std::vector<std::string> types = denied_types(model, prepared.pii_types);
    for (const std::string& type : types) {
      if (std::find(denied.begin(), denied.end(), type) == denied.end()) denied.push_back(type);
    }
    return !types.empty();
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

// What the decisions on a domain say of reasoning, by the domain or by their own name.
std::optional<bool> Planner::reasons_in(std::string_view domain_class) const {
  const std::string name = lower_ascii(domain_class);
  const auto says = [](const config::Decision& decision) {
    return decision.model_refs.empty() ? std::nullopt : decision.model_refs.front().use_reasoning;
  };
  for (const config::Decision& decision : config_.routing.decisions) {
    if (lower_ascii(decision.name) == name) return says(decision);
  }
  for (const config::Decision& decision : config_.routing.decisions) {
    if (asks_for_domain(decision.rules, domain_class)) return says(decision);
    for (const config::DomainSignal& domain : config_.routing.domains) {
      if (stands_for(domain, name) && asks_for_domain(decision.rules, domain.name))
        return says(decision);
    }
  }
  return std::nullopt;
}

std::optional<bool> Planner::reasons_by_entropy(const Findings& findings) const {
  const bool by_domain = std::any_of(findings.grounds.begin(), findings.grounds.end(),
                                     [](const Ground& ground) { return ground.type == "domain"; });
  if (!config_.router.entropy_reasoning || domain_.model == nullptr || !by_domain)
    return std::nullopt;
  const auto answers =
      findings.inputs.known_answers(*domain_.model, findings.inputs.request().user_text());
  if (answers.empty()) return std::nullopt;
  const std::vector<float>& probabilities = answers[domain_.head].scores;
  std::vector<std::optional<bool>> flags;
  for (const std::string& label : domain_.labels) flags.push_back(reasons_in(label));
  const double threshold = config_.modules.classifier.domain.threshold;
  return reason_by_entropy(probabilities, flags, threshold > 0 ? threshold : kDomainThreshold)
      .reasons;
}

// Reasoning can be switched off where there is none, and on only where the family says how.
void Planner::set_reasoning_of(const config::ModelRef& ref,
                               const config::DifficultyCase* difficulty, const Findings& findings,
                               Plan& plan) const {
  std::optional<bool> on = ref.use_reasoning;
  if (const std::optional<bool> verdict = reasons_by_entropy(findings)) on = verdict;
  if (difficulty != nullptr && difficulty->use_reasoning) on = difficulty->use_reasoning;
  const bool has_effort = difficulty != nullptr && !difficulty->reasoning_effort.empty();
  if (has_effort && !on) on = true;
  if (!plan.model->reasoning_family.empty() || on == false) plan.reasoning = on;
  if (plan.reasoning != true) return;
  plan.reasoning_effort = config_.providers.default_reasoning_effort;
  if (!ref.reasoning_effort.empty()) plan.reasoning_effort = ref.reasoning_effort;
  if (has_effort) plan.reasoning_effort = difficulty->reasoning_effort;
}

std::string Planner::edited(const Findings& findings, const config::DifficultyCase* difficulty,
                            const Plan& plan) const {
  const ChatRequest& request = findings.inputs.request();
  const config::Decision* decision = findings.subject.decision;
  const json::Value root = request.document.root();
  std::vector<Edit> edits;
  ObjectEditor body(root);
  if (decision != nullptr) {
    limit_params(decision->request_params ? &*decision->request_params : nullptr,
                 difficulty == nullptr ? std::nullopt : difficulty->max_tokens, *plan.model, root,
                 body);
  }
  if (request.model != plan.asked_for) body.set("model", json::quote(plan.asked_for));
  if (plan.injected_system_prompt)
    add_system_prompt(*decision->system_prompt, *root.find("messages"), edits);
  if (plan.reasoning && !plan.model->reasoning_family.empty()) {
    const config::ReasoningFamily& family =
        config_.providers.reasoning_families.at(plan.model->reasoning_family);
    set_reasoning(family, *plan.model, *plan.reasoning, plan.reasoning_effort, body, edits);
  }
  body.finish(edits);
  return apply(request.document.source(), std::move(edits));
}

Result<Plan> Planner::plan(const Findings& findings) const {
  const config::Decision* decision = findings.subject.decision;
  Plan plan;
  plan.bypassed = findings.subject.bypassed;
  if (plan.bypassed && findings.subject.named == nullptr)
    return unknown_model(config_, findings.inputs.request().model);
  if (!plan.bypassed) plan.recipe = "default";
  if (decision != nullptr) {
    plan.decision = decision->name;
    plan.category = decision->name;
    plan.confidence = findings.confidence;
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
  }
  Refs left = candidates(findings.subject);
  remove_restricted(findings.prepared, left, plan);
  if (plan.path == Plan::Path::kBlocked) return plan;
  const config::ModelRef& ref = *left.front();
  plan.model = config_.providers.find(ref.model);
  SIGNALBOX_CHECK(plan.model != nullptr);
  plan.asked_for = ref.lora_name.empty() ? plan.model->provider_model_id : ref.lora_name;
  const config::DifficultyCase* difficulty = nullptr;
  if (decision != nullptr) {
    difficulty = difficulty_.find(*decision, findings.values);
    set_reasoning_of(ref, difficulty, findings, plan);
    plan.injected_system_prompt = decision->system_prompt && decision->system_prompt->enabled;
    if (decision->header_mutation) plan.header_mutation = &*decision->header_mutation;
  }
  plan.body = edited(findings, difficulty, plan);
  return plan;
}

}  // namespace signalbox::router
