// Trees are evaluated from the last node to the first, so children come before their parents
// without recursion.

#include "router/decision/engine.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace signalbox::router::decision {
namespace {

using Operator = config::Rule::Operator;

Truth negate(Truth truth) {
  return static_cast<Truth>(static_cast<int>(Truth::kYes) - static_cast<int>(truth));
}

// All of the children, with the mean of their confidences; an AND of nothing matches with
// confidence 0.
Value all_of(std::span<const Value> values, std::span<const Node> nodes, uint32_t node) {
  Value out = Value::known(true, 0);
  double count = 0;
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    out.low = std::min(out.low, values[child].low);
    out.high = std::min(out.high, values[child].high);
    out.confidence_low += values[child].confidence_low;
    out.confidence_high += values[child].confidence_high;
    ++count;
  }
  if (count != 0) {
    out.confidence_low /= count;
    out.confidence_high /= count;
  }
  return out;
}

// The best of the children that match. Those sure to match bound its confidence from below; without
// one, at least one of those that can match does when the whole does.
Value any_of(std::span<const Value> values, std::span<const Node> nodes, uint32_t node) {
  Value out = Value::known(false, 0);
  double sure = 0;
  double possible = 1;
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    const Value& value = values[child];
    out.low = std::max(out.low, value.low);
    out.high = std::max(out.high, value.high);
    if (!value.can_match()) continue;
    out.confidence_high = std::max(out.confidence_high, value.confidence_high);
    possible = std::min(possible, value.confidence_low);
    if (value.is_match()) sure = std::max(sure, value.confidence_low);
  }
  if (out.can_match()) out.confidence_low = out.is_match() ? sure : possible;
  return out;
}

Value none_of(const Value& child) {
  const Value out{negate(child.high), negate(child.low), 1, 1};
  return out.can_match() ? out : Value{out.low, out.high, 0, 0};
}

}  // namespace

Engine::Engine(const config::Routing& routing,
               const std::function<uint32_t(const config::Rule& leaf)>& number_of)
    : routing_(routing) {
  const auto& decisions = routing.decisions;
  for (const config::Decision& decision : decisions) {
    roots_.push_back(static_cast<uint32_t>(nodes_.size()));
    compile(decision.rules, number_of);
  }
  std::vector<uint32_t> by_name(decisions.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(),
            [&](uint32_t a, uint32_t b) { return decisions[a].name < decisions[b].name; });
  name_rank_.resize(decisions.size());
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) name_rank_[by_name[rank]] = rank;
}

void Engine::compile(const config::Rule& rule,
                     const std::function<uint32_t(const config::Rule&)>& number_of) {
  SIGNALBOX_CHECK(rule.op != Operator::kNot || rule.conditions.size() == 1);
  const size_t at = nodes_.size();
  nodes_.push_back({rule.op, rule.op == Operator::kLeaf ? number_of(rule) : kNoSignal, 0, &rule});
  for (const config::Rule& condition : rule.conditions) compile(condition, number_of);
  nodes_[at].end = static_cast<uint32_t>(nodes_.size());
}

bool Engine::is_better(size_t a, double a_confidence, size_t b, double b_confidence) const {
  const int32_t a_priority = routing_.decisions[a].priority;
  const int32_t b_priority = routing_.decisions[b].priority;
  const bool priority_first = routing_.strategy == config::Routing::Strategy::kPriority;
  if (priority_first && a_priority != b_priority) return a_priority > b_priority;
  if (a_confidence != b_confidence) return a_confidence > b_confidence;
  if (a_priority != b_priority) return a_priority > b_priority;
  return name_rank_[a] < name_rank_[b];
}

Outcome Engine::evaluate(std::span<const Value> signals, Scratch& scratch) const {
  std::vector<Value>& values = scratch.values;
  values.resize(nodes_.size());
  for (auto i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
    const Node& node = nodes_[i];
    switch (node.op) {
      case Operator::kLeaf:
        values[i] = node.signal == kNoSignal ? Value::unavailable() : signals[node.signal];
        break;
      case Operator::kAnd:
        values[i] = all_of(values, nodes_, i);
        break;
      case Operator::kOr:
        values[i] = any_of(values, nodes_, i);
        break;
      case Operator::kNot:
        values[i] = none_of(values[i + 1]);
        break;
    }
  }

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
  for (size_t d = 0; d < roots_.size(); ++d) {
    const Value& root = scratch.values[roots_[d]];
    const bool leads = static_cast<int32_t>(d) == outcome.decision;
    const bool beaten = outcome.decision != kNoDecision && !leads &&
                        is_better(static_cast<size_t>(outcome.decision), outcome.confidence, d,
                                  root.confidence_high);
    if (!root.can_match() || beaten) continue;
    for (uint32_t i = roots_[d]; i < nodes_[roots_[d]].end;) {
      if (scratch.values[i].is_settled()) {
        i = nodes_[i].end;
        continue;
      }
      const uint32_t signal = nodes_[i].signal;
      if (signal != kNoSignal && !signals[signal].is_settled()) needed[signal] = true;
      ++i;
    }
  }
}

}  // namespace signalbox::router::decision
