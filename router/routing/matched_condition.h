#pragma once
// Why a decision was reached, as far as its plan depends on it: the conditions on guards and
// domains that speak for it.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "router/routing/decision/engine.h"

namespace signalbox::routing {

/// A condition of the decision that matches and is not under NOT.
struct MatchedCondition {
  std::string_view type;  // jailbreak, pii or domain
  std::string_view name;
  double confidence;
  std::vector<std::string_view> evidence;  // as SignalType says it
};

using EvidenceOf =
    std::function<std::vector<std::string_view>(std::string_view type, std::string_view name)>;

/// `values` (engine.nodes()) as the engine's last evaluation left them.
std::vector<MatchedCondition> grounds_of(const decision::Engine& engine, size_t decision,
                                         std::span<const decision::Value> values,
                                         const EvidenceOf& evidence_of);

}  // namespace signalbox::routing
