#pragma once
// The verdicts on one model of one decision by the features of their requests: a ridge regression
// from the features to the share of good outcomes.

#include <array>
#include <cstddef>
#include <cstdint>

#include "router/learning/features.h"
#include "router/learning/verdict.h"

namespace signalbox::learning {

struct Regression {
  /// When `count` reaches this, all sums are halved. So newer verdicts count more.
  static constexpr int64_t kCountMax = 256;
  static constexpr size_t kProducts = Features::kSize * (Features::kSize + 1) / 2;
  /// Rewards are integers, too: hundredths above an even chance.
  static constexpr int64_t kRewardMost = 50;
  static int64_t reward_of(Verdict verdict);

  int64_t count = 0;
  // The sums of reward x steps, and of steps x steps: the lower triangle by rows.
  std::array<int64_t, Features::kSize> rewards = {};
  std::array<int64_t, kProducts> products = {};

  void add(const Features& features, Verdict verdict);

  struct Estimate {
    double expected = 0;   // the share of good outcomes, 0 to 1; kNeutral while nothing is known
    double deviation = 0;  // how uncertain it is, in units of one verdict; at most sqrt(kSize)
  };
  /// Finite for all sums.
  Estimate estimate(const Features& features) const;

  /// True if some calls of add() lead to these sums, so that they may be those of a model.
  bool is_possible() const;
};

}  // namespace signalbox::learning
