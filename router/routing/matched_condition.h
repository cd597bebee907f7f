#pragma once
// The matching conditions of a decision that its plan depends on: those on guards, on domains
// and on the modality.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "router/routing/decision/engine.h"

namespace signalbox::routing {

/// A condition of the decision that matches and is not under a NOT.
struct MatchedCondition {
  std::string_view type;  // jailbreak, safety, pii, domain or modality
  std::string_view name;
  double confidence;
  std::vector<std::string_view> evidence;  // as in signals::Evidence
  /// The language that a guard does not support, if it matched for that reason; otherwise "".
  std::string_view unsupported_language = {};
};

using EvidenceOf =
    std::function<std::vector<std::string_view>(std::string_view type, std::string_view name)>;

/// `values` (engine.nodes().size()) are those of the engine's last evaluation.
std::vector<MatchedCondition> find_matched_conditions(const decision::Engine& engine,
                                                      size_t decision,
                                                      std::span<const decision::Value> values,
                                                      const EvidenceOf& evidence_of);

}  // namespace signalbox::routing
