// A decision's settings come before those of the file, and may only weaken its mode.

#include "router/learning/rules.h"

#include <algorithm>

namespace signalbox::learning {
namespace {

Mode mode_of(std::string_view word) {
  return word == "bypass" ? Mode::kBypass : word == "observe" ? Mode::kObserve : Mode::kApply;
}

bool keeps_model(const config::Decision& decision) {
  const config::Emit::Retention* retention = config::retention_of(decision);
  return retention != nullptr && retention->keep_current_model.value_or(false);
}

}  // namespace

Strategy strategy_of(std::string_view word) {
  return word == "routing_sampling"  ? Strategy::kSampling
         : word == "linucb"          ? Strategy::kLinUcb
         : word == "linear_thompson" ? Strategy::kLinearThompson
                                     : Strategy::kScores;
}

bool reads_features(const config::Learning& learning) {
  return learning.enabled && learning.adaptation.enabled &&
         reads_features(strategy_of(learning.adaptation.strategy));
}

Rules rules_of(const config::Learning& learning, const config::Decision* decision) {
  const config::Learning::Tuning& tuning = learning.protection.tuning;
  Rules out;
  out.adapts = learning.enabled && learning.adaptation.enabled;
  out.strategy = strategy_of(learning.adaptation.strategy);
  out.exploration = learning.adaptation.exploration;
  out.protects = learning.enabled && learning.protection.enabled;
  out.by_session = learning.protection.scope == "session";
  out.switch_margin = tuning.switch_margin;
  out.stability_weight = tuning.stability_weight;
  out.idle_max = std::chrono::seconds(tuning.idle_timeout_seconds);
  out.min_turns = tuning.min_turns_before_switch;
  if (decision == nullptr) return out;
  const config::Adaptations& own = decision->adaptations;
  const config::Adaptations::Protection& protection = own.protection;
  out.adaptation = std::max(mode_of(own.mode), mode_of(own.adaptation.mode));
  out.protection = std::max(mode_of(own.mode), mode_of(protection.mode));
  out.keeps = keeps_model(*decision);
  if (protection.switch_margin) out.switch_margin = *protection.switch_margin;
  if (protection.stability_weight) out.stability_weight = *protection.stability_weight;
  if (protection.idle_timeout_seconds)
    out.idle_max = std::chrono::seconds(*protection.idle_timeout_seconds);
  if (protection.min_turns_before_switch) out.min_turns = *protection.min_turns_before_switch;
  return out;
}

bool is_used(const config::Config& config) {
  const config::Learning& learning = config.router.learning;
  if (learning.enabled && (learning.adaptation.enabled || learning.protection.enabled)) return true;
  for (const config::Routing* routing : config::routings_of(config)) {
    if (std::any_of(routing->decisions.begin(), routing->decisions.end(), keeps_model)) return true;
  }
  return false;
}

std::string scope_of(std::string_view recipe, std::string_view decision) {
  std::string out(recipe);
  return out.append("/").append(decision);
}

}  // namespace signalbox::learning
