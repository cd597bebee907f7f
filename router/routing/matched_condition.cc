// Walks the decision's own nodes and skips those under a NOT.

#include "router/routing/matched_condition.h"

#include <algorithm>
#include <array>

namespace signalbox::routing {
namespace {

constexpr std::array<std::string_view, 5> kTypes{"jailbreak", "safety", "pii", "domain",
                                                 "modality"};

}  // namespace

std::vector<MatchedCondition> find_matched_conditions(const decision::Engine& engine,
                                                      size_t decision,
                                                      std::span<const decision::Value> values,
                                                      const EvidenceOf& evidence_of) {
  using Operator = config::Rule::Operator;
  std::vector<MatchedCondition> out;
  const auto nodes = engine.nodes();
  const uint32_t root = engine.root(decision);
  for (uint32_t i = root; i < nodes[root].end;) {
    const decision::Node& node = nodes[i];
    const decision::Value& value = values[i];
    i = node.op == Operator::kNot ? node.end : i + 1;
    if (node.op != Operator::kLeaf || !value.is_match()) continue;
    const std::string_view type = node.rule->type;
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) continue;
    out.push_back(
        {type, node.rule->name, value.confidence_low, evidence_of(type, node.rule->name)});
  }
  return out;
}

}  // namespace signalbox::routing
