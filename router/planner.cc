// Edits are collected and applied once; what the plan leaves alone goes out as it came.

#include "router/planner.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/plugins/edit.h"
#include "router/plugins/object_editor.h"
#include "router/plugins/pii_policy.h"
#include "router/plugins/reasoning.h"
#include "router/plugins/request_params.h"
#include "router/plugins/system_prompt.h"
#include "router/plugins/tools.h"
#include "router/selection/factory.h"
#include "router/signals/factory.h"

namespace signalbox::router {
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

}  // namespace

Planner::Planner(const config::Config& config, const config::Routing& routing,
                 const decision::NumberOf& number_of)
    : config_(config), routing_(routing), difficulty_(routing, number_of) {
  for (const config::Model& model : config.providers.models) {
    config::ModelRef ref;
    ref.model = model.name;
    plain_refs_.push_back(std::move(ref));
  }
  if (routing.fact_check.empty() && !asks_for(routing, "fact_check")) return;
  config::Rule needed;
  needed.op = config::Rule::Operator::kLeaf;
  needed.type = "fact_check";
  needed.name = "needs_fact_check";
  facts_ = number_of(needed);
}

Result<Planner> Planner::create(const config::Config& config, const config::Routing& routing,
                                const Models& models, const decision::NumberOf& number_of) {
  Planner out(config, routing, number_of);
  const auto& known = config.providers.models;
  const auto& decisions = routing.decisions;
  if (std::any_of(known.begin(), known.end(), restricts) ||
      std::any_of(decisions.begin(), decisions.end(),
                  [](const auto& decision) { return masks({.decision = &decision}); })) {
    SIGNALBOX_TRY(ModelChoice pii, classifier_of(config, models, "pii"));
    out.pii_ = PiiFinder(std::move(pii));
    out.pii_threshold_ = config.modules.classifier.pii.threshold;
    if (out.pii_threshold_ <= 0) out.pii_threshold_ = PiiFinder::kDefaultThreshold;
  }
  if (config.router.entropy_reasoning) {
    SIGNALBOX_TRY(ModelChoice domain, classifier_of(config, models, "domain"));
    out.doubt_.emplace(routing, config.modules.classifier.domain.threshold, std::move(domain));
  }
  SIGNALBOX_TRY_VOID(out.add_selectors(models.embedder.get()));
  SIGNALBOX_TRY_VOID(out.add_tool_selectors(models.embedder.get()));
  out.add_notices(models.embedder != nullptr);
  return out;
}

Result<void> Planner::add_selectors(const engine::TextEmbedder* embedder) {
  for (const config::Decision& decision : routing_.decisions) {
    if (decision.model_refs.size() < 2 || decision.fast_response) continue;
    SIGNALBOX_TRY(selection::Selection made,
                  selection::make_selector(config_, routing_, decision,
                                           candidates({.decision = &decision}), embedder));
    selectors_.emplace(&decision, std::move(made.selector));
    if (!made.notice.empty()) notices_.push_back(std::move(made.notice));
  }
  return {};
}

Result<void> Planner::add_tool_selectors(const engine::TextEmbedder* embedder) {
  if (!selects_tools(config_, routing_)) return {};
  ToolShelf shelf(config_.source, embedder);
  bool blind = false;
  const auto add = [&](const config::Decision* decision) -> Result<void> {
    SIGNALBOX_TRY(auto made, ToolSelector::create(config_, decision, shelf));
    if (made == nullptr) return {};
    blind |= made->needs_embedder() && embedder == nullptr;
    tool_selectors_.emplace(decision, std::move(made));
    return {};
  };
  SIGNALBOX_TRY_VOID(add(nullptr));
  for (const config::Decision& decision : routing_.decisions) SIGNALBOX_TRY_VOID(add(&decision));
  for (const std::string& path : shelf.missing()) {
    notices_.push_back(fmt::format("{}: there is no tools database at {}; none of it are offered",
                                   config_.source, path));
  }
  if (blind) {
    notices_.push_back(fmt::format(
        "{}: tools are to be chosen by meaning and there is no embedding model; they are "
        "not, and replies say so",
        config_.source));
  }
  return {};
}

void Planner::add_notices(bool has_embedder) {
  for (const config::Model& model : config_.providers.models) {
    if (!restricts(model) || pii_.has_model()) continue;
    notices_.push_back(
        fmt::format("{}: model \"{}\" has a pii_policy and there is no model that finds personal "
                    "data; it gets no requests",
                    config_.source, model.name));
  }
  for (const config::Decision& decision : routing_.decisions) {
    if (!masks({.decision = &decision}) || pii_.has_model()) continue;
    const config::PiiMaskPlugin& plugin = *decision.pii_mask;
    if (needs_no_model(plugin)) continue;
    const bool by_rules = plugin.on_error == config::PiiMaskPlugin::OnError::kRules;
    notices_.push_back(fmt::format(
        "{}: decision \"{}\" masks personal data and there is no model that finds it; {}",
        config_.source, decision.name,
        by_rules ? "what has no rule, as names and places, goes out as it is"
                 : "its requests are refused"));
  }
  for (const config::Decision& decision : routing_.decisions) {
    if (!config::keeps_answers(config_.response_cache, decision) || has_embedder ||
        decision.response_cache->mode == config::ResponseCachePlugin::Mode::kExact)
      continue;
    notices_.push_back(
        fmt::format("{}: decision \"{}\" keeps answers and there is no embedding model; only a "
                    "request that is the same gets one",
                    config_.source, decision.name));
  }
  if (doubt_ && !doubt_->unavailable().empty()) {
    notices_.push_back(fmt::format("{}: global.router.entropy_reasoning has no effect: {}",
                                   config_.source, doubt_->unavailable()));
  }
}

selection::Candidate Planner::candidate(const config::ModelRef& ref) const {
  const auto& cards = routing_.model_cards;
  const auto card = std::find_if(cards.begin(), cards.end(),
                                 [&](const auto& each) { return each.name == ref.model; });
  const config::Model* model = config_.providers.find(ref.model);
  SIGNALBOX_CHECK(model != nullptr);
  return {&ref, model, card == cards.end() ? nullptr : &*card};
}

Planner::Candidates Planner::candidates(const Subject& subject) const {
  Candidates out;
  if (subject.decision != nullptr && !subject.decision->model_refs.empty()) {
    for (const config::ModelRef& ref : subject.decision->model_refs) out.push_back(candidate(ref));
    return out;
  }
  const std::string& name =
      subject.named != nullptr ? subject.named->name : config_.providers.default_model;
  for (const config::ModelRef& ref : plain_refs_) {
    if (ref.model == name) out.push_back(candidate(ref));
  }
  SIGNALBOX_CHECK(!out.empty());
  return out;
}

const selection::Selector* Planner::selector_of(const Subject& subject) const {
  const auto found = selectors_.find(subject.decision);
  return found == selectors_.end() ? nullptr : found->second.get();
}

bool Planner::looks_for_pii(const Subject& subject) const {
  if (!pii_.has_model() || (subject.decision != nullptr && subject.decision->fast_response))
    return false;
  const Candidates all = candidates(subject);
  return std::any_of(all.begin(), all.end(),
                     [](const selection::Candidate& each) { return restricts(*each.model); });
}

bool Planner::masks(const Subject& subject) {
  const config::Decision* decision = subject.decision;
  return decision != nullptr && !decision->fast_response && decision->pii_mask &&
         decision->pii_mask->enabled;
}

bool Planner::grounds(const Subject& subject) {
  const config::Decision* decision = subject.decision;
  return decision != nullptr && !decision->fast_response && decision->hallucination &&
         decision->hallucination->enabled;
}

bool Planner::embeds(const Subject& subject) const {
  const selection::Selector* selector = selector_of(subject);
  return selector != nullptr && selector->needs_query();
}

// Nothing is chosen for a model that the client has named: nothing was decided for it.
const ToolSelector* Planner::tool_selector_of(const Subject& subject,
                                              const ChatRequest& request) const {
  if (subject.bypassed || (subject.decision != nullptr && subject.decision->fast_response))
    return nullptr;
  const auto found = tool_selectors_.find(subject.decision);
  if (found == tool_selectors_.end() || !found->second->applies_to(request)) return nullptr;
  return found->second.get();
}

bool Planner::asks_signals(const Subject& subject) const {
  const config::Decision* decision = subject.decision;
  if (grounds(subject) && facts_ != decision::kNoSignal) return true;
  return decision != nullptr && !decision->fast_response && !decision->difficulty.empty();
}

void Planner::mark_needed(const Subject& subject, std::span<const decision::Value> values,
                          std::vector<bool>& needed) const {
  if (!asks_signals(subject)) return;
  difficulty_.mark_needed(*subject.decision, values, needed);
  if (grounds(subject) && facts_ != decision::kNoSignal && !values[facts_].is_settled())
    needed[facts_] = true;
}

bool Planner::needs_models(const Subject& subject, const ChatRequest& request) const {
  const ToolSelector* tools = tool_selector_of(subject, request);
  return looks_for_pii(subject) || masks(subject) || embeds(subject) ||
         (tools != nullptr && tools->compares());
}

Result<void> Planner::prepare(const Subject& subject, Inputs& inputs, Prepared& prepared) const {
  Result<void> done;
  if (looks_for_pii(subject)) done = look_for_pii(inputs, prepared);
  if (masks(subject)) {
    auto masked = mask(*subject.decision->pii_mask, inputs, prepared);
    if (done) done = std::move(masked);
  }
  const ToolSelector* tools = tool_selector_of(subject, inputs.request());
  if (tools != nullptr && tools->compares()) {
    auto compared = tools->compare(inputs, prepared.tools);
    if (!compared && done) done = fail_in("tool selection", std::move(compared).error());
  }
  const std::string_view text = inputs.request().user_text();
  if (!embeds(subject) || text.empty()) return done;
  auto query = inputs.embedding(inputs.digest("embedding", text));
  if (query) {
    prepared.query = *query;
  } else if (done) {
    return fail_in("selection", std::move(query).error());
  }
  return done;
}

Result<void> Planner::mask(const config::PiiMaskPlugin& plugin, Inputs& inputs,
                           Prepared& prepared) const {
  const double threshold = plugin.threshold > 0 ? plugin.threshold : pii_threshold_;
  auto masked = mask_request(plugin, pii_, threshold, inputs);
  if (!masked) return fail_in("masking personal data", std::move(masked).error());
  prepared.masked = *std::move(masked);
  return {};
}

Result<void> Planner::look_for_pii(Inputs& inputs, Prepared& prepared) const {
  std::vector<double> scores(pii_.types().size(), 0);
  auto whole = pii_.find(inputs.request().texts(), inputs, scores);
  if (!whole) return fail_in("personal data", std::move(whole).error());
  if (!*whole)
    return fail(Code::kTooLarge, "personal data: the request is too long to be looked at whole");
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= pii_threshold_) prepared.pii_types.push_back(pii_.types()[i]);
  }
  prepared.looked_for_pii = true;
  return {};
}

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
void Planner::remove_restricted(const Prepared& prepared, Candidates& candidates,
                                Plan& plan) const {
  std::vector<std::string> denied;
  std::erase_if(candidates, [&](const selection::Candidate& each) {
    if (!restricts(*each.model)) return false;
    if (!prepared.looked_for_pii) {
      plan.left_out.push_back(
          {each.model->name, "it has a pii_policy, and personal data could not be looked for"});
      return true;
    }
    const std::vector<std::string> types = denied_types(*each.model, prepared.pii_types);
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

Result<selection::Candidate> Planner::chosen(const Findings& findings, const Candidates& left,
                                             Plan& plan) const {
  const config::Decision* decision = findings.subject.decision;
  if (decision == nullptr || left.size() < 2) return left.front();
  const selection::Selector* selector = selector_of(findings.subject);
  SIGNALBOX_CHECK(selector != nullptr);
  std::vector<std::string_view> domains;
  for (const Ground& ground : findings.grounds) {
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
                               const config::DifficultyCase* difficulty, const Findings& findings,
                               Plan& plan) const {
  std::optional<bool> on = ref.use_reasoning;
  const bool by_domain = std::any_of(findings.grounds.begin(), findings.grounds.end(),
                                     [](const Ground& ground) { return ground.type == "domain"; });
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

std::string Planner::edited(const Findings& findings, const config::DifficultyCase* difficulty,
                            const ToolChoice* tools, const Plan& plan) const {
  const ChatRequest& request = findings.inputs.request();
  const config::Decision* decision = findings.subject.decision;
  const std::optional<Masked>& masked = findings.prepared.masked;
  const json::Document& document = masked ? masked->body : request.document;
  const json::Value root = document.root();
  std::vector<Edit> edits;
  ObjectEditor body(root);
  if (tools != nullptr) put_chosen_tools(*tools, body);
  if (decision != nullptr) {
    limit_params(decision->request_params ? &*decision->request_params : nullptr,
                 difficulty == nullptr ? std::nullopt : difficulty->max_tokens, *plan.model, root,
                 body);
    if (decision->tools) filter_tools(*decision->tools, body);
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
  return apply(document.source(), std::move(edits));
}

// With one model there is nothing to choose, and a cascade or a rating of one is that one.
bool Planner::needs_unbuilt(const config::Decision& decision) const {
  const std::string& type = decision.algorithm.type;
  const bool is_one_of_many = type == "remom" || type == "fusion" || type == "workflows";
  if (decision.model_refs.size() < 2) return is_one_of_many;
  return selectors_.at(&decision) == nullptr;
}

Result<Plan> Planner::plan(const Findings& findings) const {
  const config::Decision* decision = findings.subject.decision;
  Plan plan;
  plan.bypassed = findings.subject.bypassed;
  if (plan.bypassed && findings.subject.named == nullptr)
    return unknown_model(config_, findings.inputs.request().model);
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
  const ChatRequest& request = findings.inputs.request();
  const ToolSelector* selector = tool_selector_of(findings.subject, request);
  std::optional<ToolChoice> tool_choice;
  if (selector != nullptr) {
    tool_choice =
        selector->choose(request, findings.prepared.tools, plan.category, findings.confidence);
    plan.tools = tool_choice->report;
    tools::count(plan.tools);
  }
  plan.body = edited(findings, difficulty, tool_choice ? &*tool_choice : nullptr, plan);
  if (findings.prepared.masked) plan.masks = findings.prepared.masked->masks;
  watch_reply(findings, plan);
  return plan;
}

// What is not known to need no check is checked.
void Planner::watch_reply(const Findings& findings, Plan& plan) const {
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

}  // namespace signalbox::router
