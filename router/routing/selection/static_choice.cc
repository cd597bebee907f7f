// Uses only values of the configuration file, no measurements.

#include <algorithm>

#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

class Static final : public Selector {
 public:
  explicit Static(const std::vector<config::DomainSignal>& domains) : domains_(domains) {}

  std::string_view method() const override { return "static"; }
  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    if (auto choice = by_score(candidates, inputs)) return *std::move(choice);
    if (auto choice = by_weight(candidates, inputs.draw)) return *std::move(choice);
    return Choice{0, "the first of its models"};
  }

 private:
  std::optional<Choice> by_score(std::span<const Candidate> candidates,
                                 const SelectionInputs& inputs) const {
    for (const config::DomainSignal& domain : domains_) {
      const bool matches = domain.name == inputs.decision ||
                           std::find(inputs.domains.begin(), inputs.domains.end(), domain.name) !=
                               inputs.domains.end();
      if (!matches) continue;
      Scores scores;
      for (const Candidate& candidate : candidates) {
        const auto& all = domain.model_scores;
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) {
          return each.model == candidate.model->name;
        });
        scores.push_back(found == all.end() ? std::nullopt : std::optional(found->score));
      }
      const size_t best = best_of(scores);
      if (scores[best])
        return Choice{
            best, fmt::format("scores of {}: {}", domain.name, describe_scores(candidates, scores)),
            scores};
    }
    return std::nullopt;
  }

  static std::optional<Choice> by_weight(std::span<const Candidate> candidates, double draw) {
    double sum = 0;
    for (const Candidate& candidate : candidates) {
      if (!candidate.ref->weight) return std::nullopt;
      sum += *candidate.ref->weight;
    }
    double at = draw * sum;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double weight = *candidates[i].ref->weight;
      if (at < weight) return Choice{i, fmt::format("drawn by weight {:g} of {:g}", weight, sum)};
      at -= weight;
    }
    return std::nullopt;  // every weight is zero
  }

  const std::vector<config::DomainSignal>& domains_;
};

}  // namespace

std::unique_ptr<const Selector> static_choice(const std::vector<config::DomainSignal>& domains) {
  return std::make_unique<Static>(domains);
}

}  // namespace signalbox::selection
