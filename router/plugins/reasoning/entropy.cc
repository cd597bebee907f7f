// Bounds of the entropy bands, from uncertain to certain.

#include "router/plugins/reasoning/entropy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace signalbox::plugins {
namespace {

constexpr double kVeryHigh = 0.8, kHigh = 0.6, kMedium = 0.4, kLow = 0.2;

// The `count` most likely classes vote, weighted by their probabilities; classes without a flag
// abstain.
EntropyVerdict vote(std::span<const float> probabilities,
                    std::span<const std::optional<bool>> flags, size_t count) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  double for_reasoning = 0, total = 0;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) {
    const std::optional<bool> flag = flags[order[i]];
    if (!flag) continue;
    total += probabilities[order[i]];
    if (*flag) for_reasoning += probabilities[order[i]];
  }
  if (total <= 0) return {false, 0};
  const double ratio = for_reasoning / total;
  return {ratio > 0.5, std::abs(ratio - 0.5) + 0.5};
}

}  // namespace

double normalised_entropy(std::span<const float> probabilities) {
  if (probabilities.size() < 2) return 0;
  double entropy = 0;
  for (const float p : probabilities) {
    if (p > 0) entropy -= static_cast<double>(p) * std::log2(static_cast<double>(p));
  }
  return entropy / std::log2(static_cast<double>(probabilities.size()));
}

EntropyVerdict reason_by_entropy(std::span<const float> probabilities,
                                 std::span<const std::optional<bool>> flags, double threshold) {
  SIGNALBOX_CHECK(!probabilities.empty() && probabilities.size() == flags.size());
  const double entropy = normalised_entropy(probabilities);
  if (entropy >= kVeryHigh) return {true, 0.3};
  if (entropy >= kHigh) return vote(probabilities, flags, 2);
  const auto best = static_cast<size_t>(
      std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
  const double p = probabilities[best];
  if (entropy >= kMedium && p < threshold) return vote(probabilities, flags, 3);
  if (!flags[best]) return {false, p * 0.8};
  const double trust = entropy >= kMedium ? 0.8 : entropy >= kLow ? 0.9 : 0.95;
  return {*flags[best], p * trust};
}

}  // namespace signalbox::plugins
