// The order of decisions, and what that order leaves open.

#include "router/decision/engine.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace signalbox::router::decision {

Engine::Engine(const config::Routing& routing, const NumberOf& number_of) : routing_(routing) {
  const auto& decisions = routing.decisions;
  for (const config::Decision& decision : decisions) {
    roots_.push_back(rules_.add(decision.rules, number_of));
  }
  std::vector<uint32_t> by_name(decisions.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(),
            [&](uint32_t a, uint32_t b) { return decisions[a].name < decisions[b].name; });
  name_rank_.resize(decisions.size());
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) name_rank_[by_name[rank]] = rank;
}

uint32_t Engine::tier(size_t decision) const {
  const int32_t tier = routing_.decisions[decision].tier;
  return tier > 0 ? static_cast<uint32_t>(tier) : kNoTier;
}

bool Engine::is_better(size_t a, double a_confidence, size_t b, double b_confidence) const {
  const int32_t a_priority = routing_.decisions[a].priority;
  const int32_t b_priority = routing_.decisions[b].priority;
  const uint32_t a_tier = tier(a);
  const uint32_t b_tier = tier(b);
  if (a_tier != b_tier) return a_tier < b_tier;
  const bool priority_first =
      a_tier == kNoTier && routing_.strategy == config::Routing::Strategy::kPriority;
  if (priority_first && a_priority != b_priority) return a_priority > b_priority;
  if (a_confidence != b_confidence) return a_confidence > b_confidence;
  if (a_priority != b_priority) return a_priority > b_priority;
  return name_rank_[a] < name_rank_[b];
}

Outcome Engine::evaluate(std::span<const Value> signals, Scratch& scratch) const {
  std::vector<Value>& values = scratch.values;
  values.resize(rules_.nodes().size());
  rules_.evaluate(signals, values);

  Outcome out;
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& value = values[roots_[d]];
    if (!value.is_match()) continue;
    if (out.decision == kNoDecision ||
        is_better(d, value.confidence_low, static_cast<size_t>(out.decision), out.confidence)) {
      out.decision = static_cast<int32_t>(d);
      out.confidence = value.confidence_low;
    }
  }
  out.fixed = true;
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& value = values[roots_[d]];
    const bool rival = value.can_match() && static_cast<int32_t>(d) != out.decision;
    if (rival &&
        (out.decision == kNoDecision ||
         !is_better(static_cast<size_t>(out.decision), out.confidence, d, value.confidence_high))) {
      out.fixed = false;
    }
  }
  return out;
}

void Engine::mark_needed(std::span<const Value> signals, const Scratch& scratch,
                         const Outcome& outcome, std::vector<bool>& needed) const {
  if (outcome.fixed) return;
  const std::span<const Node> nodes = rules_.nodes();
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& root = scratch.values[roots_[d]];
    const bool leads = static_cast<int32_t>(d) == outcome.decision;
    const bool beaten = outcome.decision != kNoDecision && !leads &&
                        is_better(static_cast<size_t>(outcome.decision), outcome.confidence, d,
                                  root.confidence_high);
    if (!root.can_match() || beaten) continue;
    for (uint32_t i = roots_[d]; i < nodes[roots_[d]].end;) {
      if (scratch.values[i].is_settled()) {
        i = nodes[i].end;
        continue;
      }
      const uint32_t signal = nodes[i].signal;
      if (signal != kNoSignal && !signals[signal].is_settled()) needed[signal] = true;
      ++i;
    }
  }
}

}  // namespace signalbox::router::decision
