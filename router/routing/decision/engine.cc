// Ranks the decisions, and finds the signals that could still change the ranking.

#include "router/routing/decision/engine.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace signalbox::decision {

Engine::Engine(const config::Routing& routing, const NumberOf& number_of, const StageOf& stage_of)
    : routing_(routing) {
  const auto& decisions = routing.decisions;
  for (const config::Decision& decision : decisions) {
    roots_.push_back(rules_.add(decision.rules, number_of, stage_of));
    guards_.push_back(config::binds_named_models(decision));
    always_match_.push_back(config::always_matches(decision));
  }
  std::vector<uint32_t> by_name(decisions.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(),
            [&](uint32_t a, uint32_t b) { return decisions[a].name < decisions[b].name; });
  name_rank_.resize(decisions.size());
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) name_rank_[by_name[rank]] = rank;
}

Engine::Rank Engine::rank_min(size_t decision, const Scratch& scratch) const {
  const uint32_t root = roots_[decision];
  const uint32_t stage = scratch.stages.empty() ? 0 : scratch.stages[root].high;
  return {scratch.values[root].confidence_low, stage};
}

Engine::Rank Engine::rank_max(size_t decision, const Scratch& scratch) const {
  const uint32_t root = roots_[decision];
  const uint32_t stage = scratch.stages.empty() ? 0 : scratch.stages[root].low;
  return {scratch.values[root].confidence_high, stage};
}

bool Engine::must_settle(size_t decision, const Scratch& scratch) const {
  const Value& value = scratch.values[roots_[decision]];
  return routing_.decisions[decision].rules.must_be_known() && value.low != value.high;
}

bool Engine::is_final(uint32_t node, const Scratch& scratch) const {
  const Value& value = scratch.values[node];
  if (!value.is_settled()) return false;
  if (!value.can_match() || scratch.stages.empty()) return true;
  return scratch.stages[node].low == scratch.stages[node].high;
}

bool Engine::is_better(size_t a, const Rank& a_rank, size_t b, const Rank& b_rank) const {
  const int32_t a_tier = routing_.decisions[a].tier;
  const int32_t b_tier = routing_.decisions[b].tier;
  if (a_tier != b_tier) return a_tier < b_tier;
  if (always_match_[a] != always_match_[b]) return always_match_[b];
  const int32_t a_priority = routing_.decisions[a].priority;
  const int32_t b_priority = routing_.decisions[b].priority;
  using Strategy = config::Routing::Strategy;
  if (routing_.strategy == Strategy::kPriority && a_priority != b_priority)
    return a_priority > b_priority;
  if (routing_.strategy == Strategy::kFusion) {
    const std::optional<double>& least = routing_.override_confidence;
    const bool a_overrides = least && a_rank.confidence >= *least;
    const bool b_overrides = least && b_rank.confidence >= *least;
    if (a_overrides != b_overrides) return a_overrides;
    if (a_rank.stage != b_rank.stage) return a_rank.stage < b_rank.stage;
  }
  if (a_rank.confidence != b_rank.confidence) return a_rank.confidence > b_rank.confidence;
  if (a_priority != b_priority) return a_priority > b_priority;
  return name_rank_[a] < name_rank_[b];
}

bool Engine::has_guards() const {
  return std::find(guards_.begin(), guards_.end(), true) != guards_.end();
}

Outcome Engine::evaluate(std::span<const Value> signals, Scratch& scratch, Among among) const {
  std::vector<Value>& values = scratch.values;
  values.resize(rules_.nodes().size());
  rules_.evaluate(signals, values);
  if (routing_.strategy == config::Routing::Strategy::kFusion) {
    scratch.stages.resize(values.size());
    rules_.find_stages(values, scratch.stages);
  } else {
    scratch.stages.clear();
  }

  Outcome out;
  Rank leader{};
  for (size_t d = 0; d < roots_.size(); ++d) {
    if (!values[roots_[d]].is_match() || !takes_part(d, among)) continue;
    const Rank rank = rank_min(d, scratch);
    if (out.decision == kNoDecision ||
        is_better(d, rank, static_cast<size_t>(out.decision), leader)) {
      out.decision = static_cast<int32_t>(d);
      leader = rank;
    }
  }
  out.confidence = leader.confidence;
  out.fixed = true;
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& value = values[roots_[d]];
    if (!takes_part(d, among)) continue;
    const bool is_resolved = value.is_match() || value.high == Truth::kNo;
    if (routing_.decisions[d].rules.must_be_known() && !is_resolved &&
        out.unresolved == kNoDecision)
      out.unresolved = static_cast<int32_t>(d);
    if (must_settle(d, scratch)) out.fixed = false;
    const bool rival = value.can_match() && static_cast<int32_t>(d) != out.decision;
    if (rival && (out.decision == kNoDecision ||
                  !is_better(static_cast<size_t>(out.decision), leader, d, rank_max(d, scratch)))) {
      out.fixed = false;
    }
  }
  return out;
}

void Engine::mark_needed(std::span<const Value> signals, const Scratch& scratch,
                         const Outcome& outcome, std::vector<bool>& needed, Among among) const {
  if (outcome.fixed) return;
  const auto leader = static_cast<size_t>(std::max(outcome.decision, 0));
  const std::span<const Node> nodes = rules_.nodes();
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& root = scratch.values[roots_[d]];
    const bool leads = static_cast<int32_t>(d) == outcome.decision;
    const bool beaten = outcome.decision != kNoDecision && !leads &&
                        is_better(leader, rank_min(leader, scratch), d, rank_max(d, scratch));
    const bool is_decided = !root.can_match() || beaten;
    if ((is_decided && !must_settle(d, scratch)) || !takes_part(d, among)) continue;
    for (uint32_t i = roots_[d]; i < nodes[roots_[d]].end;) {
      if (is_final(i, scratch)) {
        i = nodes[i].end;
        continue;
      }
      const uint32_t signal = nodes[i].signal;
      if (signal != kNoSignal && !signals[signal].is_settled()) needed[signal] = true;
      ++i;
    }
  }
}

}  // namespace signalbox::decision
