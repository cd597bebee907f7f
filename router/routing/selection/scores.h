#pragma once
// What algorithms share: figures of a candidate as numbers, and numbers made comparable.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// The `percentile` (1 to 100) of ascending values by nearest rank; nothing without any.
std::optional<double> percentile(std::span<const double> ascending, uint32_t percentile);

/// The price of a million tokens read, or generated where reading costs nothing; nothing for a
/// model without prices.
std::optional<double> cost_of(const Candidate& candidate);

/// The card's quality_score if it lies within 0 and 1.
std::optional<double> quality_of(const Candidate& candidate);

/// To the range 0 to 1: the greatest 1, the least 0, all of them 1 where they are equal. What is
/// missing stays so.
using Scores = std::vector<std::optional<double>>;
Scores normalised(const Scores& scores);
/// The same the other way around, for what should be small.
Scores inverted(const Scores& scores);
/// What a figure that is not known counts as among normalised ones.
inline constexpr double kUnknown = 0.5;

/// The index of the greatest, the first of equals; 0 when none is known.
size_t best_of(const Scores& scores);

/// The candidate of the least known cost, the first of equals; 0 when no cost is known.
size_t cheapest(std::span<const Candidate> candidates);

/// "qwen3 0.91, llama 0.40", for reasons.
std::string in_words(std::span<const Candidate> candidates, const Scores& scores);

}  // namespace signalbox::selection
