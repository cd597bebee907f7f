#pragma once
// The rules of the configuration about learning for one decision.

#include <chrono>
#include <string>
#include <string_view>

#include "router/config/config.h"

namespace signalbox::learning {

enum class Mode : uint8_t {
  kApply,
  kObserve,  // reports what it would do
  kBypass,
};

/// The way in which adaptation compares models.
enum class Strategy : uint8_t {
  kScores,          // by their scores, and none is tried
  kSampling,        // by samples of their scores
  kLinUcb,          // by the upper bound of their value for requests like this one
  kLinearThompson,  // by samples of their value for requests like this one
};
Strategy strategy_of(std::string_view word);
/// True if the strategy compares models for requests like this one.
constexpr bool reads_features(Strategy strategy) {
  return strategy == Strategy::kLinUcb || strategy == Strategy::kLinearThompson;
}
/// True if features of requests are needed.
bool reads_features(const config::Learning& learning);

struct Rules {
  bool adapts = false;  // adaptation is switched on
  Strategy strategy = Strategy::kScores;
  double exploration = 0.5;  // weight of the uncertainty, for strategies that read the features
  bool protects = false;     // protection is switched on
  Mode adaptation = Mode::kApply;
  Mode protection = Mode::kApply;
  bool keeps = false;  // keep_current_model
  bool by_session = false;
  double switch_margin = 0;
  double stability_weight = 0;
  std::chrono::seconds idle_max{0};  // 0: no limit
  uint32_t min_turns = 0;

  /// True if models are compared by the features of the request. Nothing is learnt from the request
  /// of a decision that bypasses adaptation, so its record has no features.
  bool needs_features() const {
    return adapts && adaptation != Mode::kBypass && reads_features(strategy);
  }
  bool proposes() const { return adapts && adaptation == Mode::kApply; }
  bool holds() const { return keeps || (protects && protection == Mode::kApply); }
};

/// `decision` is null for a request that no decision matches.
Rules rules_of(const config::Learning& learning, const config::Decision* decision);

/// True if any request may need what this room keeps.
bool is_used(const config::Config& config);

/// The name under which conversations and outcomes know a decision. Names of decisions are unique
/// in their recipe only.
std::string scope_of(std::string_view recipe, std::string_view decision);

}  // namespace signalbox::learning
