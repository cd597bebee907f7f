// Combines the scores of other algorithms.

#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/automix.h"
#include "router/routing/selection/router_dc.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

class Hybrid final : public Selector {
 public:
  Hybrid(const config::HybridSelection& config, const config::AutoMix& automix,
         std::optional<Cards> cards)
      : config_(config), automix_(automix), cards_(std::move(cards)) {}
  std::string_view method() const override { return "hybrid"; }
  bool needs_query() const override { return cards_ && config_.router_dc_weight > 0; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    Scores quality, similarity, cost;
    for (const Candidate& candidate : candidates) {
      quality.push_back(quality_of(candidate));
      cost.push_back(cost_of(candidate));
    }
    Scores value = automix_values(automix_, candidates);
    const bool compares = needs_query() && !inputs.query.empty();
    if (compares) similarity = cards_->similarities(candidates, inputs.query);
    if (config_.normalize_scores) {
      quality = normalised(quality);
      similarity = normalised(similarity);
      value = normalised(value);
    }
    cost = inverted(cost);
    Scores sums;
    for (size_t i = 0; i < candidates.size(); ++i) {
      double sum = config_.experience_weight * quality[i].value_or(kUnknown) +
                   config_.automix_weight * *value[i];
      if (compares) sum += config_.router_dc_weight * similarity[i].value_or(0);
      if (cost[i]) sum *= 1 + config_.cost_weight * *cost[i];
      sums.push_back(sum);
    }
    return Choice{best_of(sums),
                  fmt::format("sums{}: {}", compares ? "" : " without similarity",
                              describe_scores(candidates, sums)),
                  sums};
  }

 private:
  const config::HybridSelection config_;
  const config::AutoMix automix_;
  const std::optional<Cards> cards_;
};

}  // namespace

Made hybrid(const config::HybridSelection& config, const config::RouterDc& router_dc,
            const config::AutoMix& automix, std::span<const Candidate> candidates,
            const engine::TextEmbedder* embedder) {
  std::optional<Cards> cards;
  if (embedder != nullptr && config.router_dc_weight > 0) {
    SIGNALBOX_TRY(cards, Cards::embed(router_dc, candidates, *embedder));
  }
  return std::make_unique<Hybrid>(config, automix, std::move(cards));
}

}  // namespace signalbox::selection
