#pragma once
// A simulation of the cost of a strategy: a decision with the models "small" and "large", whose
// answers are good with known probabilities.

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <random>

#include "router/learning/choice.h"

namespace signalbox::learning {

struct SimulatedRequest {
  std::array<double, 2> good;  // the probability of a good answer by "small" and "large"
  Features features = {};
};

/// Returns the good answers that `strategy` misses in `requests` requests, each of them reported,
/// as a mean of `runs` runs.
inline double regret(Strategy strategy, int runs, int requests, uint64_t seed,
                     const std::function<SimulatedRequest(std::mt19937_64&)>& draw) {
  const Option options[] = {{"small", "small", std::nullopt}, {"large", "large", std::nullopt}};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  Rules rules;
  rules.adapts = true;
  rules.strategy = strategy;
  double missed = 0;
  for (int run = 0; run < runs; ++run) {
    Outcomes outcomes;
    Situation situation;
    situation.outcomes = &outcomes;
    for (int i = 0; i < requests; ++i) {
      const SimulatedRequest request = draw(random);
      Report report;
      const auto read = rules.needs_features() ? std::optional(request.features) : std::nullopt;
      const size_t chosen = choose(options, 0, "r/d", situation, rules, read,
                                   static_cast<uint32_t>(random()), report);
      const Verdict verdict =
          uniform(random) < request.good[chosen] ? Verdict::kGoodFit : Verdict::kUnderpowered;
      outcomes.add("r/d", std::string(options[chosen].model), verdict, &request.features);
      missed += std::max(request.good[0], request.good[1]) - request.good[chosen];
    }
  }
  return missed / runs;
}

}  // namespace signalbox::learning
