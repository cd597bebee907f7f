// Builds the planner and runs prepare(), its first step, which gathers what the plan still needs to
// know of a request. planner_plan.cc holds the second step.

#include "router/routing/planner.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/ascii.h"
#include "router/looper/looper.h"
#include "router/routing/selection/factory.h"
#include "router/routing/selection/pii_policy.h"
#include "router/signals/factory.h"

namespace signalbox::routing {

Planner::Planner(const config::Config& config, const config::Routing& routing,
                 const decision::NumberOf& number_of)
    : config_(config), routing_(routing), difficulty_(routing, number_of) {
  for (const config::Recipe& recipe : config.recipes) {
    if (&recipe.routing == &routing)
      needs_decision_ = recipe.name.starts_with(config::kDirectRecipe);
  }
  has_roles_ = std::ranges::any_of(config::routings_of(config), [](const config::Routing* each) {
    return !each->role_bindings.empty();
  });
  for (const config::Model& model : config.providers.models) {
    config::ModelRef ref;
    ref.model = model.name;
    plain_refs_.push_back(std::move(ref));
  }
  if (routing.fact_check.empty() && !models::uses_type(routing, "fact_check")) return;
  config::Rule needed;
  needed.op = config::Rule::Operator::kLeaf;
  needed.type = "fact_check";
  needed.name = "needs_fact_check";
  facts_ = number_of(needed);
}

Result<Planner> Planner::create(const config::Config& config, const config::Routing& routing,
                                const models::Models& models, const Stores& stores,
                                const decision::NumberOf& number_of) {
  Planner out(config, routing, number_of);
  out.stores_ = stores;
  const auto& known = config.providers.models;
  const auto& decisions = routing.decisions;
  if (std::any_of(known.begin(), known.end(), selection::restricts) ||
      std::any_of(decisions.begin(), decisions.end(), config::masks)) {
    SIGNALBOX_TRY(signals::ModelChoice pii, signals::classifier_of(config, models, "pii"));
    out.pii_ = signals::PiiFinder(std::move(pii));
    out.pii_threshold_ = config.modules.classifier.pii.threshold;
    if (out.pii_threshold_ <= 0) out.pii_threshold_ = signals::PiiFinder::kDefaultThreshold;
    SIGNALBOX_TRY_VOID(out.check_masked_types());
  }
  if (config.router.entropy_reasoning) {
    SIGNALBOX_TRY(signals::ModelChoice domain, signals::classifier_of(config, models, "domain"));
    out.doubt_.emplace(routing, config.modules.classifier.domain.threshold, std::move(domain));
  }
  SIGNALBOX_TRY_VOID(out.add_selectors(models));
  SIGNALBOX_TRY_VOID(out.add_tool_selectors(models));
  SIGNALBOX_TRY_VOID(out.add_retrievers(models));
  SIGNALBOX_TRY_VOID(out.add_memory_rules(models.lacks_embedder()));
  if (models.are_open) out.add_notices(models.lacks_embedder());
  return out;
}

// A type that neither the rules nor the model finds would be sent unmasked, so it is an error.
// Without a model, add_notices() reports the types instead.
Result<void> Planner::check_masked_types() const {
  if (!pii_.has_model()) return {};
  const std::vector<std::string>& known = pii_.types();
  for (const config::Decision& decision : routing_.decisions) {
    if (!config::masks(decision)) continue;
    for (const std::string& type : decision.pii_mask->types) {
      if (std::find(known.begin(), known.end(), ascii::upper_case(type)) != known.end()) continue;
      return fail(Code::kInvalid,
                  "{}: decision \"{}\": pii_mask: neither rules nor the model of "
                  "modules.classifier.pii find \"{}\" (known: {})",
                  config_.source, decision.name, type, fmt::join(known, ", "));
    }
  }
  return {};
}

Result<void> Planner::add_selectors(const models::Models& models) {
  for (const config::Decision& decision : routing_.decisions) {
    if (decision.fast_response) continue;
    if (config::calls_several(decision.algorithm, decision.model_refs.size())) {
      auto checked = looper::check(decision);
      if (checked) continue;
      return fail_in(
          fmt::format("{}:{}: decision \"{}\"", config_.source, decision.line, decision.name),
          std::move(checked).error());
    }
    if (decision.model_refs.size() < 2) continue;
    SIGNALBOX_TRY(
        selection::Selection made,
        selection::make_selector(config_, routing_, decision, candidates({.decision = &decision}),
                                 models.embedder.get()));
    selectors_.emplace(&decision, std::move(made.selector));
    if (!made.notice.empty() && (models.are_open || !made.lacks_embedder))
      notices_.push_back(std::move(made.notice));
  }
  return {};
}

Result<void> Planner::add_tool_selectors(const models::Models& models) {
  if (!models::selects_tools(config_, routing_)) return {};
  plugins::ToolShelf shelf(config_.source, models.embedder.get());
  bool needs_embedder = false;
  const auto add = [&](const config::Decision* decision) -> Result<void> {
    SIGNALBOX_TRY(auto made, plugins::ToolSelector::create(config_, decision, shelf));
    if (made == nullptr) return {};
    needs_embedder |= made->needs_embedder();
    tool_selectors_.emplace(decision, std::move(made));
    return {};
  };
  SIGNALBOX_TRY_VOID(add(nullptr));
  for (const config::Decision& decision : routing_.decisions) SIGNALBOX_TRY_VOID(add(&decision));
  for (const std::string& path : shelf.missing()) {
    notices_.push_back(
        fmt::format("{}: there is no tools database at {}; no tools are offered from it",
                    config_.source, path));
  }
  if (needs_embedder && models.lacks_embedder()) {
    notices_.push_back(fmt::format(
        "{}: choosing tools by similarity needs an embedding model, and there is none; tools "
        "are not chosen, and response headers report it",
        config_.source));
  }
  return {};
}

// Called only if the models were opened.
void Planner::add_notices(bool lacks_embedder) {
  for (const config::Model& model : config_.providers.models) {
    if (!selection::restricts(model) || pii_.has_model()) continue;
    notices_.push_back(
        fmt::format("{}: model \"{}\" has a pii_policy and there is no model that finds personal "
                    "data; it gets no requests",
                    config_.source, model.name));
  }
  for (const config::Decision& decision : routing_.decisions) {
    if (!config::masks(decision) || pii_.has_model()) continue;
    const config::PiiMaskPlugin& plugin = *decision.pii_mask;
    if (plugins::needs_no_model(plugin)) continue;
    const bool by_rules = plugin.on_error == config::PiiMaskPlugin::OnError::kRules;
    notices_.push_back(fmt::format(
        "{}: decision \"{}\" masks personal data and there is no model that finds it; {}",
        config_.source, decision.name,
        by_rules ? "types without a rule, such as names and places, are sent unmasked"
                 : "its requests are refused"));
  }
  for (const config::Decision& decision : routing_.decisions) {
    if (!config::keeps_answers(config_.response_cache, decision) || !lacks_embedder ||
        decision.response_cache->mode == config::ResponseCachePlugin::Mode::kExact)
      continue;
    notices_.push_back(
        fmt::format("{}: decision \"{}\" caches replies and there is no embedding model; only "
                    "identical requests are served from the cache",
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

Planner::Candidates Planner::candidates(const PlanTarget& target) const {
  Candidates out;
  if (target.decision != nullptr && !target.decision->model_refs.empty()) {
    for (const config::ModelRef& ref : target.decision->model_refs) out.push_back(candidate(ref));
    return out;
  }
  const std::string& name =
      target.named != nullptr ? target.named->name : config_.providers.default_model;
  for (const config::ModelRef& ref : plain_refs_) {
    if (ref.model == name) out.push_back(candidate(ref));
  }
  SIGNALBOX_CHECK(!out.empty());
  return out;
}

const selection::Selector* Planner::selector_of(const PlanTarget& target) const {
  const auto found = selectors_.find(target.decision);
  return found == selectors_.end() ? nullptr : found->second.get();
}

bool Planner::looks_for_pii(const PlanTarget& target) const {
  if (!pii_.has_model() || (target.decision != nullptr && target.decision->fast_response))
    return false;
  const Candidates all = candidates(target);
  return std::any_of(all.begin(), all.end(), [](const selection::Candidate& candidate) {
    return selection::restricts(*candidate.model);
  });
}

// An action may send a request that named its model, and was to be masked, to another one.
const config::PiiMaskPlugin* Planner::mask_of(const PlanTarget& target) {
  const config::Decision* decision = target.decision;
  if (decision == nullptr) return target.mask;
  if (config::masks(*decision)) return &*decision->pii_mask;
  return decision->fast_response ? nullptr : target.mask;
}

bool Planner::checks_grounding(const PlanTarget& target) {
  const config::Decision* decision = target.decision;
  return decision != nullptr && !decision->fast_response && decision->hallucination &&
         decision->hallucination->enabled;
}

bool Planner::embeds(const PlanTarget& target) const {
  const selection::Selector* selector = selector_of(target);
  return selector != nullptr && selector->needs_query();
}

// No tools are chosen if the client named a model, because nothing was decided then.
const plugins::ToolSelector* Planner::tool_selector_of(const PlanTarget& target,
                                                       const request::ChatRequest& request) const {
  if (target.bypassed || (target.decision != nullptr && target.decision->fast_response))
    return nullptr;
  const auto found = tool_selectors_.find(target.decision);
  if (found == tool_selectors_.end() || !found->second->applies_to(request)) return nullptr;
  return found->second.get();
}

bool Planner::needs_signals(const PlanTarget& target) const {
  const config::Decision* decision = target.decision;
  if (checks_grounding(target) && facts_ != decision::kNoSignal) return true;
  return decision != nullptr && !decision->fast_response && !decision->difficulty.empty();
}

void Planner::mark_needed(const PlanTarget& target, std::span<const decision::Value> values,
                          std::vector<bool>& needed) const {
  if (!needs_signals(target)) return;
  difficulty_.mark_needed(*target.decision, values, needed);
  if (checks_grounding(target) && facts_ != decision::kNoSignal && !values[facts_].is_settled())
    needed[facts_] = true;
}

bool Planner::needs_models(const PlanTarget& target, const request::ChatRequest& request) const {
  const plugins::ToolSelector* tools = tool_selector_of(target, request);
  return looks_for_pii(target) || mask_of(target) != nullptr || embeds(target) ||
         compresses(target) || retrieves(target) || memory_rules_of(target) != nullptr ||
         (tools != nullptr && tools->compares());
}

Result<void> Planner::prepare(const PlanTarget& target, signals::Inputs& inputs,
                              ModelResults& results) const {
  results.decision = target.decision;
  Result<void> done;
  if (looks_for_pii(target)) done = look_for_pii(inputs, results);
  if (const config::PiiMaskPlugin* plugin = mask_of(target)) {
    auto masked = mask(*plugin, inputs, results);
    if (done) done = std::move(masked);
  }
  if (compresses(target)) compress(target, inputs, results);
  if (retrieves(target)) find_documents(target, inputs, results);
  if (memory_rules_of(target) != nullptr) find_memories(target, inputs, results);
  const plugins::ToolSelector* tools = tool_selector_of(target, inputs.request());
  if (tools != nullptr && tools->compares()) {
    auto compared = tools->compare(inputs, results.tools);
    if (!compared && done) done = fail_in("tool selection", std::move(compared).error());
  }
  const std::string_view text = inputs.request().user_text();
  if (!embeds(target) || text.empty()) return done;
  auto query = inputs.embedding(inputs.digest("embedding", text));
  if (query) {
    results.query = *query;
  } else if (done) {
    return fail_in("selection", std::move(query).error());
  }
  return done;
}

Result<void> Planner::mask(const config::PiiMaskPlugin& plugin, signals::Inputs& inputs,
                           ModelResults& results) const {
  const double threshold = plugin.threshold > 0 ? plugin.threshold : pii_threshold_;
  auto masked = plugins::mask_request(plugin, pii_, threshold, inputs);
  if (!masked) return fail_in("masking personal data", std::move(masked).error());
  results.masked = *std::move(masked);
  return {};
}

Result<void> Planner::look_for_pii(signals::Inputs& inputs, ModelResults& results) const {
  std::vector<double> scores(pii_.types().size(), 0);
  auto whole = pii_.find(inputs.request().texts(), inputs, scores);
  pii_.find_by_rules(inputs.request().sent, scores);
  if (!whole) return fail_in("personal data", std::move(whole).error());
  if (!*whole) return fail(Code::kTooLarge, "personal data: {}", signals::kNotReadWhole);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= pii_threshold_) results.pii_types.push_back(pii_.types()[i]);
  }
  results.looked_for_pii = true;
  return {};
}

}  // namespace signalbox::routing
