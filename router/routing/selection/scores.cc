// There are only a few candidates, so plain loops suffice.

#include "router/routing/selection/scores.h"

#include <algorithm>
#include <cmath>

namespace signalbox::selection {

std::optional<double> percentile(std::span<const double> ascending, uint32_t percentile) {
  if (ascending.empty()) return std::nullopt;
  const double rank = std::ceil(percentile / 100.0 * static_cast<double>(ascending.size()));
  const auto at = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return ascending[std::min(at, ascending.size() - 1)];
}

std::optional<double> cost_of(const Candidate& candidate) {
  const auto& pricing = candidate.model->pricing;
  if (!pricing) return std::nullopt;
  const double price =
      pricing->prompt_per_1m > 0 ? pricing->prompt_per_1m : pricing->completion_per_1m;
  // A price of requests alone compares with no price of tokens.
  return price == 0 && pricing->per_request > 0 ? std::nullopt : std::optional(price);
}

std::optional<double> quality_of(const Candidate& candidate) {
  if (candidate.card == nullptr || !candidate.card->quality_score) return std::nullopt;
  const double quality = *candidate.card->quality_score;
  return quality >= 0 && quality <= 1 ? std::optional(quality) : std::nullopt;
}

Scores normalised(const Scores& scores) {
  std::optional<double> low, high;
  for (const auto& score : scores) {
    if (!score) continue;
    low = std::min(low.value_or(*score), *score);
    high = std::max(high.value_or(*score), *score);
  }
  Scores out;
  for (const auto& score : scores) {
    if (!score) {
      out.push_back(std::nullopt);
    } else {
      out.push_back(*high > *low ? (*score - *low) / (*high - *low) : 1.0);
    }
  }
  return out;
}

Scores inverted(const Scores& scores) {
  Scores negative;
  for (const auto& score : scores)
    negative.push_back(score ? std::optional(-*score) : std::nullopt);
  return normalised(negative);
}

size_t best_of(const Scores& scores) {
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] && (!scores[best] || *scores[i] > *scores[best])) best = i;
  }
  return best;
}

size_t cheapest(std::span<const Candidate> candidates) {
  Scores cheap;
  for (const Candidate& candidate : candidates) {
    const auto cost = cost_of(candidate);
    cheap.push_back(cost ? std::optional(-*cost) : std::nullopt);
  }
  return best_of(cheap);
}

std::string describe_scores(std::span<const Candidate> candidates, const Scores& scores) {
  std::string out;
  for (size_t i = 0; i < candidates.size(); ++i) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", candidates[i].model->name,
                       scores[i] ? fmt::format("{:.3g}", *scores[i]) : "unknown");
  }
  return out;
}

}  // namespace signalbox::selection
