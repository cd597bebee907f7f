// Evaluates trees from the last node to the first, so that children come before their parents
// without recursion.

#include "router/routing/decision/rules.h"

#include <algorithm>

#include "base/error.h"

namespace signalbox::decision {
namespace {

using Operator = config::Rule::Operator;

Truth negate(Truth truth) {
  return static_cast<Truth>(static_cast<int>(Truth::kYes) - static_cast<int>(truth));
}

// All children must match; the confidence is the mean of theirs. An AND without children matches
// with confidence 0. A child that cannot match ends the loop early, which is the common case with
// many decisions.
Value all_of(std::span<const Value> values, std::span<const Node> nodes, uint32_t node) {
  Value out = Value::known(true, 0);
  double count = 0;
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    if (values[child].high == Truth::kNo) return Value::known(false, 0);
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

// The best of the matching children. Children that certainly match bound the confidence from below.
// If there is none and the OR matches, at least one of the children that can match does.
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
  const Value out{negate(child.high), negate(child.low), false, 1, 1};
  return out.can_match() ? out : Value{out.low, out.high, false, 0, 0};
}

}  // namespace

uint32_t Rules::add(const config::Rule& rule, const NumberOf& number_of, const StageOf& stage_of) {
  SIGNALBOX_CHECK(rule.op != Operator::kNot || rule.conditions.size() == 1);
  const size_t at = nodes_.size();
  const bool is_leaf = rule.op == Operator::kLeaf;
  const uint32_t number = is_leaf ? number_of(rule) : kNoSignal;
  const auto kind = is_leaf ? config::score_kind(rule) : config::ScoreKind::kNone;
  nodes_.push_back({rule.op, number, 0, 0, kind, &rule});
  if (stage_of && number != kNoSignal) nodes_[at].stage = stage_of(number);
  for (const config::Rule& condition : rule.conditions) add(condition, number_of, stage_of);
  nodes_[at].end = static_cast<uint32_t>(nodes_.size());
  return static_cast<uint32_t>(at);
}

void Rules::find_stages(std::span<const Value> values, std::span<Stages> stages) const {
  for (auto i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
    const Node& node = nodes_[i];
    Stages& out = stages[i];
    out = {node.stage, node.stage};
    if (node.op == Operator::kAnd) {
      for (uint32_t child = i + 1; child < node.end; child = nodes_[child].end)
        out = {std::max(out.low, stages[child].low), std::max(out.high, stages[child].high)};
    }
    if (node.op != Operator::kOr) continue;
    out.low = UINT32_MAX;
    uint32_t sure = UINT32_MAX;  // the upper bound from a child that certainly matches
    for (uint32_t child = i + 1; child < node.end; child = nodes_[child].end) {
      if (!values[child].can_match()) continue;
      out.low = std::min(out.low, stages[child].low);
      out.high = std::max(out.high, stages[child].high);
      if (values[child].is_match()) sure = std::min(sure, stages[child].high);
    }
    out.high = std::min(out.high, sure);
  }
}

void Rules::evaluate(std::span<const Value> signals, std::span<Value> values) const {
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
}

}  // namespace signalbox::decision
