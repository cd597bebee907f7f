// There are few conditions, so those of all decisions are evaluated together.

#include "router/plugins/reasoning/difficulty.h"

namespace signalbox::plugins {

Difficulty::Difficulty(const config::Routing& routing, const decision::NumberOf& number_of) {
  for (const config::Decision& decision : routing.decisions) {
    for (const config::DifficultyCase& each : decision.difficulty)
      cases_[&decision].push_back({&each, rules_.add(each.when, number_of)});
  }
}

std::vector<decision::Value> Difficulty::evaluate(std::span<const decision::Value> values) const {
  std::vector<decision::Value> nodes(rules_.nodes().size());
  rules_.evaluate(values, nodes);
  return nodes;
}

const config::DifficultyCase* Difficulty::find(const config::Decision& decision,
                                               std::span<const decision::Value> values) const {
  const auto cases = cases_.find(&decision);
  if (cases == cases_.end()) return nullptr;
  const std::vector<decision::Value> nodes = evaluate(values);
  for (const Case& each : cases->second) {
    if (nodes[each.root].is_match()) return each.config;
  }
  return nullptr;
}

void Difficulty::mark_needed(const config::Decision& decision,
                             std::span<const decision::Value> values,
                             std::vector<bool>& needed) const {
  const auto cases = cases_.find(&decision);
  if (cases == cases_.end()) return;
  const std::vector<decision::Value> nodes = evaluate(values);
  for (const Case& each : cases->second) {
    const decision::Value& value = nodes[each.root];
    if (value.is_match()) return;  // later cases cannot apply
    if (!value.can_match()) continue;
    for (uint32_t i = each.root; i < rules_.nodes()[each.root].end; ++i) {
      const decision::Node& node = rules_.nodes()[i];
      if (node.signal != decision::kNoSignal && nodes[i].low != nodes[i].high)
        needed[node.signal] = true;
    }
  }
}

}  // namespace signalbox::plugins
