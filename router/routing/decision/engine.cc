// Ranks the decisions, and finds the signals that could still change the ranking.

#include "router/routing/decision/engine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace signalbox::decision {
Engine::Engine(const config::Routing& routing, const NumberOf& number_of, const StageOf& stage_of)
    : routing_(routing) {
  const auto& decisions = routing.decisions;
  for (const config::Decision& decision : decisions) {
    roots_.push_back(rules_.add(decision.rules, number_of, stage_of));
    guards_.push_back(config::binds_named_models(decision));
    masks_.push_back(config::masks(decision));
    always_match_.push_back(config::always_matches(decision));
    const ScoreKind kind = config::score_kind(decision.rules);
    kinds_.push_back(kind == ScoreKind::kOther ? ScoreKind::kNone : kind);
  }
  uses_evidence_ =
      routing.strategy != config::Routing::Strategy::kFusion &&
      std::ranges::any_of(kinds_, [](ScoreKind kind) { return kind != ScoreKind::kNone; });
  std::vector<uint32_t> by_name(decisions.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(),
            [&](uint32_t a, uint32_t b) { return decisions[a].name < decisions[b].name; });
  name_rank_.resize(decisions.size());
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) name_rank_[by_name[rank]] = rank;
}

Engine::Rank Engine::rank_known(size_t decision, const Scratch& scratch) const {
  const Rank least = rank_min(decision, scratch);
  return {uses_evidence_ ? scratch.evidence[roots_[decision]].sure.mean : least.confidence,
          least.stage};
}

Engine::Rank Engine::rank_min(size_t decision, const Scratch& scratch) const {
  const uint32_t root = roots_[decision];
  const uint32_t stage = scratch.stages.empty() ? 0 : scratch.stages[root].high;
  return {uses_evidence_ ? scratch.evidence[root].low : scratch.values[root].confidence_low, stage};
}

Engine::Rank Engine::rank_max(size_t decision, const Scratch& scratch) const {
  const uint32_t root = roots_[decision];
  const uint32_t stage = scratch.stages.empty() ? 0 : scratch.stages[root].low;
  return {uses_evidence_ ? scratch.evidence[root].high : scratch.values[root].confidence_high,
          stage};
}

bool Engine::must_settle(size_t decision, const Scratch& scratch) const {
  const Value& value = scratch.values[roots_[decision]];
  return routing_.decisions[decision].rules.must_be_known() && value.low != value.high;
}

bool Engine::is_final(uint32_t node, const Scratch& scratch, bool with_evidence) const {
  const Value& value = scratch.values[node];
  if (!value.is_settled() || (with_evidence && !scratch.evidence[node].is_settled())) return false;
  if (!value.can_match() || scratch.stages.empty()) return true;
  return scratch.stages[node].low == scratch.stages[node].high;
}

Engine::Compared Engine::is_compared(int32_t tier, const Scratch& scratch, Among among) const {
  if (routing_.strategy == config::Routing::Strategy::kFusion) return Compared::kYes;
  if (!uses_evidence_) return Compared::kNo;
  uint32_t kinds = 0;  // a set of those of decisions that may match, and of those that do
  uint32_t sure_kinds = 0;
  bool is_sure = true;
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& value = scratch.values[roots_[d]];
    const bool competes = value.can_match() && takes_part(d, among);
    if (!competes || routing_.decisions[d].tier != tier || always_match_[d]) continue;
    const Evidence& evidence = scratch.evidence[roots_[d]];
    const bool has_one =
        kinds_[d] != ScoreKind::kNone && evidence.count_low == 1 && evidence.count_high == 1;
    const bool may_have_one =
        kinds_[d] != ScoreKind::kNone && evidence.count_low <= 1 && evidence.count_high >= 1;
    if (value.is_match() && !may_have_one) return Compared::kNo;
    is_sure = is_sure && has_one;
    const uint32_t kind = 1u << static_cast<uint32_t>(kinds_[d]);
    kinds |= kind;
    if (value.is_match()) sure_kinds |= kind;
  }
  if (std::popcount(sure_kinds) > 1) return Compared::kNo;
  return is_sure && std::popcount(kinds) <= 1 ? Compared::kYes : Compared::kMaybe;
}

bool Engine::compares_known(int32_t tier, const Scratch& scratch, Among among) const {
  if (routing_.strategy == config::Routing::Strategy::kFusion) return true;
  if (!uses_evidence_) return false;
  uint32_t kinds = 0;  // a set
  for (size_t d = 0; d < roots_.size(); ++d) {
    const bool competes = scratch.values[roots_[d]].is_match() && takes_part(d, among);
    if (!competes || routing_.decisions[d].tier != tier || always_match_[d]) continue;
    if (kinds_[d] == ScoreKind::kNone || scratch.evidence[roots_[d]].sure.count != 1) return false;
    kinds |= 1u << static_cast<uint32_t>(kinds_[d]);
  }
  return std::popcount(kinds) <= 1;
}

bool Engine::ranks_by_confidence(size_t a, size_t b) const {
  const config::Decision& left = routing_.decisions[a];
  const config::Decision& right = routing_.decisions[b];
  return left.tier == right.tier && always_match_[a] == always_match_[b] &&
         (routing_.strategy != config::Routing::Strategy::kPriority ||
          left.priority == right.priority);
}

bool Engine::beats(size_t leader, size_t rival, const Scratch& scratch, Compared compared) const {
  const Rank low = rank_min(leader, scratch);
  const Rank high = rank_max(rival, scratch);
  return (compared == Compared::kNo || is_better(leader, low, rival, high, true)) &&
         (compared == Compared::kYes || is_better(leader, low, rival, high, false));
}

bool Engine::is_better(size_t a, const Rank& a_rank, size_t b, const Rank& b_rank,
                       bool compared) const {
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
  if (compared && a_rank.confidence != b_rank.confidence)
    return a_rank.confidence > b_rank.confidence;
  if (a_priority != b_priority) return a_priority > b_priority;
  return name_rank_[a] < name_rank_[b];
}

bool Engine::has_guards() const {
  return std::find(guards_.begin(), guards_.end(), true) != guards_.end();
}

bool Engine::has_masks() const {
  return std::find(masks_.begin(), masks_.end(), true) != masks_.end();
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
  scratch.evidence.resize(uses_evidence_ ? values.size() : 0);
  for (const uint32_t root : roots_) {
    if (uses_evidence_ && values[root].can_match())
      find_evidence(rules_.nodes(), root, values, scratch.evidence);
  }

  int32_t tier = INT32_MAX;  // of the leader
  for (size_t d = 0; d < roots_.size(); ++d) {
    if (values[roots_[d]].is_match() && takes_part(d, among))
      tier = std::min(tier, routing_.decisions[d].tier);
  }
  const bool compares = compares_known(tier, scratch, among);
  Outcome out;
  for (size_t d = 0; d < roots_.size(); ++d) {
    if (!values[roots_[d]].is_match() || !takes_part(d, among)) continue;
    const auto leader = static_cast<size_t>(out.decision);
    if (out.decision == kNoDecision ||
        is_better(d, rank_known(d, scratch), leader, rank_known(leader, scratch), compares))
      out.decision = static_cast<int32_t>(d);
  }
  if (out.decision != kNoDecision)
    out.confidence = values[roots_[static_cast<size_t>(out.decision)]].confidence_low;
  const Compared compared = is_compared(tier, scratch, among);
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
                  !beats(static_cast<size_t>(out.decision), d, scratch, compared)))
      out.fixed = false;
  }
  return out;
}

void Engine::mark_needed(std::span<const Value> signals, const Scratch& scratch,
                         const Outcome& outcome, std::vector<bool>& needed, Among among) const {
  if (outcome.fixed) return;
  const bool has_leader = outcome.decision != kNoDecision;
  const auto leader = static_cast<size_t>(std::max(outcome.decision, 0));
  const int32_t tier = has_leader ? routing_.decisions[leader].tier : INT32_MAX;
  const Compared compared = is_compared(tier, scratch, among);
  const auto is_beaten = [&](size_t d) {
    return has_leader && d != leader && beats(leader, d, scratch, compared);
  };
  bool is_close = false;  // confidences may decide
  for (size_t d = 0; uses_evidence_ && has_leader && d < roots_.size(); ++d) {
    is_close =
        is_close || (d != leader && scratch.values[roots_[d]].can_match() && takes_part(d, among) &&
                     ranks_by_confidence(leader, d) && !is_beaten(d));
  }
  const std::span<const Node> nodes = rules_.nodes();
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& root = scratch.values[roots_[d]];
    // Even a beaten decision may settle if the confidences of its tier are compared.
    const bool counts = is_close && routing_.decisions[d].tier == tier && !always_match_[d];
    const bool is_decided =
        !root.can_match() || (is_beaten(d) && !(counts && compared == Compared::kMaybe));
    if ((is_decided && !must_settle(d, scratch)) || !takes_part(d, among)) continue;
    const bool with_evidence = counts && root.can_match() && kinds_[d] != ScoreKind::kNone;
    for (uint32_t i = roots_[d]; i < nodes[roots_[d]].end;) {
      if (is_final(i, scratch, with_evidence)) {
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
