// Weighs quality against cost before any model is queried.

#include "router/routing/selection/automix.h"

#include "router/routing/selection/algorithms.h"

namespace signalbox::selection {
namespace {

constexpr double kAssumedQuality = 0.8;
// For a million tokens; roughly the price of the most expensive models
constexpr double kCostUnit = 10;

class AutoMix final : public Selector {
 public:
  explicit AutoMix(const config::AutoMix& config) : config_(config) {}

  std::string_view method() const override { return "automix"; }
  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs&) const override {
    const Scores values = automix_values(config_, candidates);
    return Choice{best_of(values), fmt::format("values: {}", describe_scores(candidates, values))};
  }

 private:
  const config::AutoMix config_;
};

}  // namespace

Scores automix_values(const config::AutoMix& config, std::span<const Candidate> candidates) {
  Scores values;
  for (const Candidate& candidate : candidates) {
    const double penalty = config.cost_aware_routing ? cost_of(candidate).value_or(0) / kCostUnit *
                                                           config.cost_quality_tradeoff
                                                     : 0;
    values.push_back(quality_of(candidate).value_or(kAssumedQuality) - penalty);
  }
  return values;
}

std::unique_ptr<const Selector> automix(const config::AutoMix& config) {
  return std::make_unique<AutoMix>(config);
}

}  // namespace signalbox::selection
