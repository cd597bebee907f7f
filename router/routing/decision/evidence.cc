// Evaluates trees from the last node to the first, as rules.cc does.

#include "router/routing/decision/evidence.h"

#include <algorithm>

#include "router/routing/decision/rules.h"

namespace signalbox::decision {
namespace {

using config::ScoreKind;
using Operator = config::Rule::Operator;

// A match because of an error counts as two scores, so that nothing is compared with it.
Evidence of_leaf(const Node& node, const Value& value) {
  if (value.by_error) return {2, 2, 0, 0, {2, 0}};
  if (node.kind == ScoreKind::kNone) return {};
  return {1, 1, value.confidence_low, value.confidence_high, {1, value.confidence_low}};
}

Evidence of_all(std::span<const Node> nodes, std::span<const Evidence> evidence, uint32_t node) {
  Evidence sum;    // the scores of the children
  Evidence range;  // their least and their greatest mean
  range.low = 1;
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    const Evidence& each = evidence[child];
    if (each.count_high == 0) continue;
    sum.count_low += each.count_low;
    sum.count_high += each.count_high;
    sum.low += each.low * each.count_low;
    sum.high += each.high * each.count_low;
    sum.sure.count += each.sure.count;
    sum.sure.mean += each.sure.mean * each.sure.count;
    range.low = std::min(range.low, each.low);
    range.high = std::max(range.high, each.high);
  }
  if (sum.count_high == 0) return {};
  if (sum.sure.count > 0) sum.sure.mean /= sum.sure.count;
  const bool is_counted = sum.count_low == sum.count_high;
  return {sum.count_low, sum.count_high, is_counted ? sum.low / sum.count_low : range.low,
          is_counted ? sum.high / sum.count_low : range.high, sum.sure};
}

Evidence of_any(std::span<const Node> nodes, std::span<const Value> values,
                std::span<const Evidence> evidence, uint32_t node) {
  uint32_t sure = 0;  // the best of those that certainly match with a score, or 0
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    if (values[child].is_match() && evidence[child].count_low > 0 &&
        (sure == 0 || evidence[child].low > evidence[sure].low))
      sure = child;
  }
  Evidence out{UINT32_MAX, 0, 1, 0};
  for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
    const Evidence& each = evidence[child];
    if (!values[child].can_match()) continue;
    if (values[child].is_match() && each.sure.count > 0 &&
        (out.sure.count == 0 || each.sure.mean > out.sure.mean))
      out.sure = each.sure;
    if (sure != 0) {
      const double least = evidence[sure].low;
      const bool is_worse = each.high < least || (each.high == least && child > sure);
      if (each.count_high == 0 || (is_worse && child != sure)) continue;
    }
    out.count_low = std::min(out.count_low, each.count_low);
    out.count_high = std::max(out.count_high, each.count_high);
    out.low = std::min(out.low, each.low);
    out.high = std::max(out.high, each.high);
  }
  if (sure != 0) {
    out.count_low = std::max(out.count_low, 1u);
    out.low = evidence[sure].low;
  }
  return out.count_high == 0 ? Evidence{} : out;
}

}  // namespace

void find_evidence(std::span<const Node> nodes, uint32_t root, std::span<const Value> values,
                   std::span<Evidence> out) {
  for (uint32_t i = nodes[root].end; i-- > root;) {
    out[i] = {};
    if (!values[i].can_match()) continue;
    if (nodes[i].op == Operator::kLeaf) out[i] = of_leaf(nodes[i], values[i]);
    if (nodes[i].op == Operator::kAnd) out[i] = of_all(nodes, out, i);
    if (nodes[i].op == Operator::kOr) out[i] = of_any(nodes, values, out, i);
  }
}

}  // namespace signalbox::decision
