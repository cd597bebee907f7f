// If only measured models were compared, a new model would never be measured, and a model that was
// once slow would stay slow. Measurements expire, so both are tried again.

#include <algorithm>

#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

// Expresses values at a percentile as multiples of the smallest.
Scores in_multiples(Scores values) {
  std::optional<double> least;
  for (const auto& value : values) {
    if (value) least = std::min(least.value_or(*value), *value);
  }
  const double unit = least && *least > 0 ? *least : 1;
  for (auto& value : values) {
    if (value) value = *value / unit;
  }
  return values;
}

class LatencyAware final : public Selector {
 public:
  explicit LatencyAware(const config::LatencyAware& config) : config_(config) {}
  std::string_view method() const override { return "latency_aware"; }
  bool needs_figures() const override { return true; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    const bool tpot = config_.tpot_percentile > 0;
    const bool ttft = config_.ttft_percentile > 0;
    if (inputs.figures.empty() || (!tpot && !ttft))
      return Choice{0, "the first of its models: there are no measurements"};
    Scores tpots, ttfts;
    for (const Figures& figures : inputs.figures) {
      tpots.push_back(percentile(figures.tpot_ms, config_.tpot_percentile));
      ttfts.push_back(percentile(figures.ttft_ms, config_.ttft_percentile));
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      const bool measured = (!tpot || tpots[i]) && (!ttft || ttfts[i]);
      if (!measured && inputs.figures[i].in_flight == 0)
        return Choice{i, "tried, because it has no measurements"};
    }
    tpots = in_multiples(std::move(tpots));
    ttfts = in_multiples(std::move(ttfts));
    Scores fast;  // greater is better
    for (size_t i = 0; i < candidates.size(); ++i) {
      if ((tpot && !tpots[i]) || (ttft && !ttfts[i])) {
        fast.push_back(std::nullopt);
        continue;
      }
      const double sum = (tpot ? *tpots[i] : 0) + (ttft ? *ttfts[i] : 0);
      fast.push_back(-sum / (tpot && ttft ? 2 : 1));
    }
    const size_t best = best_of(fast);
    if (!fast[best]) return Choice{0, "the first of its models: there are no measurements"};
    for (auto& score : fast) score = score ? std::optional(-*score) : std::nullopt;
    return Choice{best, fmt::format("times in multiples of the least: {}",
                                    describe_scores(candidates, fast))};
  }

 private:
  const config::LatencyAware config_;
};

}  // namespace

std::unique_ptr<const Selector> latency_aware(const config::LatencyAware& config) {
  return std::make_unique<LatencyAware>(config);
}

}  // namespace signalbox::selection
