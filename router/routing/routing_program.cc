// Compiles a routing. Signals are numbered type by type, in the order of the factory.

#include "router/routing/routing_program.h"

#include <algorithm>
#include <functional>

#include "router/signals/factory.h"

namespace signalbox::routing {
namespace {

void collect_leaves(const config::Rule& rule, std::vector<const config::Rule*>& leaves,
                    bool negated = false) {
  if (rule.op == config::Rule::Operator::kLeaf && !negated) leaves.push_back(&rule);
  if (rule.op == config::Rule::Operator::kNot) negated = !negated;
  for (const config::Rule& condition : rule.conditions) collect_leaves(condition, leaves, negated);
}

// Leaves that contribute to a fast_response decision, or to one with an action, when they match.
std::vector<const config::Rule*> blocking_leaves(const config::Routing& routing) {
  std::vector<const config::Rule*> leaves;
  for (const config::Decision& decision : routing.decisions) {
    if (decision.fast_response || decision.action.is_set()) collect_leaves(decision.rules, leaves);
  }
  return leaves;
}

using OnError = config::Rule::OnError;

// True if `wanted` holds for the on_error of a condition on a type of signals.
bool any_on_error(const config::Routing& routing, std::string_view type,
                  const std::function<bool(OnError)>& wanted) {
  const std::function<bool(const config::Rule&)> holds = [&](const config::Rule& rule) {
    return (rule.type == type && wanted(rule.on_error)) ||
           std::ranges::any_of(rule.conditions, holds);
  };
  return std::ranges::any_of(routing.decisions, holds, &config::Decision::rules);
}

// The consequence for the conditions on a type of signals that cannot be computed.
std::string_view consequence(const config::Routing& routing, std::string_view type) {
  const bool is_set = any_on_error(routing, type, [](OnError each) {
    return each == OnError::kMatch || each == OnError::kNoMatch;
  });
  if (is_set)
    return "their on_error decides whether conditions on them match; conditions without on_error "
           "do "
           "not match, nor does NOT of them";
  if (any_on_error(routing, type, [](OnError each) { return each == OnError::kUnknown; }))
    return "requests whose rules with on_unknown: fail_request need them get 503, and other "
           "conditions on them do not match";
  const bool guards = config::is_guard_signal(type) &&
                      std::ranges::any_of(routing.decisions, config::binds_named_models);
  if (guards)
    return "conditions on them do not match, nor does NOT of them, so that no guard refuses or "
           "routes a request by them";
  return "conditions on them do not match, nor does NOT of them";
}

// Groups the names of the signals that have a reason by that reason.
std::vector<std::pair<std::string_view, std::string>> by_reason(
    const signals::SignalType& type,
    std::string_view (signals::SignalType::*reason_of)(size_t signal) const) {
  std::vector<std::pair<std::string_view, std::string>> reasons;
  for (size_t i = 0; i < type.size(); ++i) {
    const std::string_view why = (type.*reason_of)(i);
    if (why.empty()) continue;
    auto found = std::find_if(reasons.begin(), reasons.end(),
                              [&](const auto& each) { return each.first == why; });
    if (found == reasons.end()) found = reasons.insert(found, {why, ""});
    found->second += found->second.empty() ? "" : ", ";
    found->second += type.name(i);
  }
  return reasons;
}

}  // namespace

bool RoutingProgram::Group::is_available() const {
  for (uint32_t i = 0; i < size(); ++i) {
    if (signals->unavailable(i).empty()) return true;
  }
  return false;
}

Result<std::unique_ptr<const RoutingProgram>> RoutingProgram::create(const config::Config& config,
                                                                     std::string_view recipe,
                                                                     const config::Routing& routing,
                                                                     const models::Models& models,
                                                                     const Stores& stores) {
  auto program = std::unique_ptr<RoutingProgram>(new RoutingProgram(config, recipe, routing));
  SIGNALBOX_TRY_VOID(program->compile(config, models, stores));
  return program;
}

// If a guard signal of a blocking rule fails, treat it as having matched, also when a condition
// reads it through a projection. prompt_guard.on_error overrides this for jailbreak signals.
config::Rule::OnError RoutingProgram::on_failure(const config::Rule& leaf, bool blocks,
                                                 const config::Modules& modules) const {
  const auto answer_of = [&](std::string_view type) {
    if (type == "jailbreak" && modules.prompt_guard.on_error) {
      const bool block = *modules.prompt_guard.on_error == config::ClassifierModel::OnError::kBlock;
      return block ? OnError::kMatch : OnError::kNoMatch;
    }
    return config::is_guard_signal(type) && blocks ? OnError::kMatch : OnError::kDefault;
  };
  if (leaf.type != "projection") return answer_of(leaf.type);
  const uint32_t output = leaf_values_->projections().output(leaf.name);
  if (output == decision::kNoSignal || !blocks) return OnError::kDefault;
  const std::vector<uint32_t> sources = leaf_values_->sources_of(output);
  const bool guarded = std::any_of(sources.begin(), sources.end(), [&](uint32_t number) {
    return answer_of(signals_of(number).type()) == OnError::kMatch;
  });
  return guarded ? OnError::kMatch : OnError::kDefault;
}

uint32_t RoutingProgram::stage_of(uint32_t number) const {
  uint32_t stage = 0;
  for (const uint32_t signal : leaf_values_->sources_of(leaf_values_->target_of(number).number))
    stage = std::max(stage, static_cast<uint32_t>(signals_of(signal).needs()));
  return stage;
}

const signals::SignalType& RoutingProgram::signals_of(uint32_t number) const {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& each) { return number < each.first + each.size(); });
  SIGNALBOX_CHECK(group != groups_.end());
  return *group->signals;
}

Result<void> RoutingProgram::compile(const config::Config& config, const models::Models& models,
                                     const Stores& stores) {
  SIGNALBOX_TRY(signals::SignalTypes types, signals::make_signals(config, routing_, models));
  for (auto& type : types) {
    const auto size = static_cast<uint32_t>(type->size());
    groups_.push_back({std::move(type), signals_});
    signals_ += size;
  }
  SIGNALBOX_TRY(leaf_values_,
                decision::LeafValues::create(
                    routing_, signals_, [this](auto type, auto name) { return find(type, name); },
                    config.embedding_model.top_k));
  const auto blocking = blocking_leaves(routing_);
  const auto number_of = [&](const config::Rule& leaf) {
    const bool blocks = std::find(blocking.begin(), blocking.end(), &leaf) != blocking.end();
    return leaf_values_->number_of(leaf, on_failure(leaf, blocks, config.modules));
  };
  engine_.emplace(routing_, number_of, [this](uint32_t number) { return stage_of(number); });
  SIGNALBOX_TRY(Planner planner, Planner::create(config, routing_, models, stores, number_of));
  planner_.emplace(std::move(planner));
  for (const Group& group : groups_) add_notices(config, models, *group.signals);
  notices_.insert(notices_.end(), planner_->notices().begin(), planner_->notices().end());
  return {};
}

// An empty type matches any type: partitions name their members without one. Embedding signals and
// domains are searched first.
uint32_t RoutingProgram::find(std::string_view type, std::string_view name) const {
  if (type.empty()) {
    for (const std::string_view each : {"embedding", "domain"}) {
      if (const uint32_t number = find(each, name); number != decision::kNoSignal) return number;
    }
  }
  for (const Group& group : groups_) {
    if (!type.empty() && group.signals->type() != type) continue;
    for (uint32_t i = 0; i < group.size(); ++i) {
      if (group.signals->name(i) == name) return group.first + i;
    }
  }
  return decision::kNoSignal;
}

void RoutingProgram::add_notices(const config::Config& config, const models::Models& models,
                                 const signals::SignalType& type) {
  const std::string not_configured = models::absence("");
  const auto holds = [&](std::string_view why) { return models.are_open || why == not_configured; };
  const bool is_main = &routing_ == &config.routing;
  const std::string where =
      is_main ? config.source : fmt::format("{}: recipe {}", config.source, recipe_);
  for (const auto& [why, names] : by_reason(type, &signals::SignalType::unavailable)) {
    if (!holds(why)) continue;
    notices_.push_back(
        fmt::format("{}: {} signals are unavailable ({}): {}; {}, and projections count them as "
                    "not matching",
                    where, type.type(), names, why, consequence(routing_, type.type())));
  }
  for (const auto& [why, names] : by_reason(type, &signals::SignalType::lacks)) {
    if (!holds(why)) continue;
    notices_.push_back(
        fmt::format("{}: {} signals work only in part ({}): {}", where, type.type(), names, why));
  }
}

}  // namespace signalbox::routing
