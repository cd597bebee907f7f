#pragma once
// Helpers that algorithms share: a candidate's figures as numbers, and normalisation.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// The `percentile` (1 to 100) of ascending values by nearest rank; nullopt if there are none.
std::optional<double> percentile(std::span<const double> ascending, uint32_t percentile);

/// The price of a million prompt tokens or, if those are free, of completion tokens; nullopt for a
/// model without prices of tokens.
std::optional<double> cost_of(const Candidate& candidate);

/// The card's quality_score if it is within 0 to 1.
std::optional<double> quality_of(const Candidate& candidate);

/// Scales values to the range 0 to 1: the greatest becomes 1, the least 0. If all are equal, all
/// become 1. Missing values stay missing.
using Scores = std::vector<std::optional<double>>;
Scores normalised(const Scores& scores);
/// The same in reverse, for values that should be small.
Scores inverted(const Scores& scores);
/// The value of an unknown figure among normalised ones.
inline constexpr double kUnknown = 0.5;

/// The index of the greatest value, the first of equals; 0 if no value is known.
size_t best_of(const Scores& scores);

/// The index of the candidate with the least known cost, the first of equals; 0 if no cost is
/// known.
size_t cheapest(std::span<const Candidate> candidates);

/// Formats scores for a reason: "qwen3 0.91, llama 0.40".
std::string describe_scores(std::span<const Candidate> candidates, const Scores& scores);

}  // namespace signalbox::selection
