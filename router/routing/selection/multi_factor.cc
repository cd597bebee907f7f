// Applies the bounds first, then computes the sum.

#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

constexpr uint32_t kDefaultPercentile = 95;

class MultiFactor final : public Selector {
 public:
  explicit MultiFactor(const config::MultiFactor& config) : config_(config) {
    if (config_.latency_percentile == 0) config_.latency_percentile = kDefaultPercentile;
  }
  std::string_view method() const override { return "multi_factor"; }
  bool needs_figures() const override { return true; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    std::vector<size_t> within;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (is_within(candidates[i], figures_of(inputs, i))) within.push_back(i);
    }
    if (within.empty()) return none_within(candidates);
    std::vector<Candidate> kept;
    for (const size_t i : within) kept.push_back(candidates[i]);
    const Scores sums = sum(kept, inputs, within);
    Scores scores(candidates.size(), 0.0);
    for (size_t i = 0; i < within.size(); ++i) scores[within[i]] = sums[i];
    return Choice{within[best_of(sums)],
                  fmt::format("{} of {} within the bounds: {}", kept.size(), candidates.size(),
                              describe_scores(kept, sums)),
                  scores};
  }

 private:
  static const Figures& figures_of(const SelectionInputs& inputs, size_t candidate) {
    static const Figures none;
    return inputs.figures.empty() ? none : inputs.figures[candidate];
  }

  // An unknown value violates no bound.
  bool is_within(const Candidate& candidate, const Figures& figures) const {
    const config::MultiFactor::Slo& slo = config_.slo;
    const auto violates = [](double bound, std::optional<double> value) {
      return bound > 0 && value && *value > bound;
    };
    return !violates(slo.max_tpot_ms, percentile(figures.tpot_ms, config_.latency_percentile)) &&
           !violates(slo.max_ttft_ms, percentile(figures.ttft_ms, config_.latency_percentile)) &&
           !violates(slo.max_cost_per_1m, cost_of(candidate)) &&
           !violates(slo.max_inflight, static_cast<double>(figures.in_flight));
  }

  Result<Choice> none_within(std::span<const Candidate> candidates) const {
    using On = config::MultiFactor::OnNoCandidates;
    if (config_.on_no_candidates == On::kFail)
      return fail(Code::kOverloaded, "no model is within the bounds of its latency, cost and load");
    if (config_.on_no_candidates == On::kFirst)
      return Choice{0, "the first of its models: none is within the bounds"};
    return Choice{cheapest(candidates), "the cheapest: none is within the bounds"};
  }

  Scores sum(std::span<const Candidate> kept, const SelectionInputs& inputs,
             std::span<const size_t> within) const {
    Scores quality, tpot, ttft, cost, load;
    for (size_t i = 0; i < kept.size(); ++i) {
      const Figures& figures = figures_of(inputs, within[i]);
      quality.push_back(quality_of(kept[i]));
      tpot.push_back(percentile(figures.tpot_ms, config_.latency_percentile));
      ttft.push_back(percentile(figures.ttft_ms, config_.latency_percentile));
      cost.push_back(cost_of(kept[i]));
      load.push_back(figures.in_flight);
    }
    quality = normalised(quality);
    tpot = inverted(tpot);
    ttft = inverted(ttft);
    cost = inverted(cost);
    load = inverted(load);
    const config::MultiFactor::Weights& w = config_.weights;
    const double all = w.quality + w.latency + w.cost + w.load;
    Scores out;
    for (size_t i = 0; i < kept.size(); ++i) {
      const double latency = tpot[i] ? *tpot[i] : ttft[i].value_or(kUnknown);
      const double sum = w.quality * quality[i].value_or(kUnknown) + w.latency * latency +
                         w.cost * cost[i].value_or(kUnknown) + w.load * *load[i];
      out.push_back(all > 0 ? sum / all : 0);
    }
    return out;
  }

  config::MultiFactor config_;
};

}  // namespace

std::unique_ptr<const Selector> multi_factor(const config::MultiFactor& config) {
  return std::make_unique<MultiFactor>(config);
}

}  // namespace signalbox::selection
