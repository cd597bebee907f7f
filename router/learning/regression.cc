// With A = I + sum of x x' and b = sum of reward x, the estimate is x' A^-1 b and its deviation the
// root of x' A^-1 x (Li et al. 2010, disjoint LinUCB). A Cholesky factor of A is computed for each
// estimate: it takes microseconds, and sums of integers never drift, as an inverse that is updated
// does. Halving rounds products down. All its errors together make each less than 1/64 smaller, and
// so A less than 24/64 in any direction: A stays positive definite.

#include "router/learning/regression.h"

#include <algorithm>
#include <cmath>

namespace signalbox::learning {
namespace {

constexpr size_t kSize = Features::kSize;
constexpr double kRidge = 1;
/// Possible sums never give a smaller pivot. The bound only keeps the numbers of impossible sums
/// finite.
constexpr double kPivotLeast = 0.25;
constexpr double kSteps = Features::kSteps;

constexpr size_t at(size_t row, size_t column) {
  return row * (row + 1) / 2 + column;
}

using Triangle = std::array<double, Regression::kProducts>;
using Vector = std::array<double, kSize>;

/// Makes the lower factor of A. Returns the least pivot, which is positive if A is definite.
double factorise(const Regression& from, Triangle& factor) {
  double least = kRidge;
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = static_cast<double>(from.products[at(i, j)]) / (kSteps * kSteps);
      for (size_t k = 0; k < j; ++k) sum -= factor[at(i, k)] * factor[at(j, k)];
      if (i != j) {
        factor[at(i, j)] = sum / factor[at(j, j)];
        continue;
      }
      least = std::min(least, sum + kRidge);
      factor[at(i, i)] = std::sqrt(std::max(sum + kRidge, kPivotLeast));
    }
  }
  return least;
}

/// Solves factor x = of.
Vector solve(const Triangle& factor, Vector of) {
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t k = 0; k < i; ++k) of[i] -= factor[at(i, k)] * of[k];
    of[i] /= factor[at(i, i)];
  }
  return of;
}

double product_of(const Vector& a, const Vector& b) {
  double out = 0;
  for (size_t i = 0; i < kSize; ++i) out += a[i] * b[i];
  return out;
}

}  // namespace

int64_t Regression::reward_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGoodFit:
      return kRewardMost;
    case Verdict::kOverprovisioned:
      return -3;  // as a tally counts it
    case Verdict::kUnderpowered:
    case Verdict::kFailed:
      return -kRewardMost;
  }
  return 0;
}

void Regression::add(const Features& features, Verdict verdict) {
  if (count >= kCountMax) {
    count /= 2;
    for (int64_t& each : rewards) each /= 2;
    for (int64_t& each : products) each /= 2;
  }
  ++count;
  const int64_t reward = reward_of(verdict);
  for (size_t i = 0; i < kSize; ++i) {
    if (features.steps[i] == 0) continue;
    rewards[i] += reward * features.steps[i];
    for (size_t j = 0; j <= i; ++j)
      products[at(i, j)] += int64_t{features.steps[i]} * features.steps[j];
  }
}

Regression::Estimate Regression::estimate(const Features& features) const {
  Vector x, b;
  for (size_t i = 0; i < kSize; ++i) {
    x[i] = features.share(i);
    b[i] = static_cast<double>(rewards[i]) / (kSteps * 2 * kRewardMost);
  }
  Triangle factor;
  factorise(*this, factor);
  x = solve(factor, x);
  b = solve(factor, b);
  const double expected = kNeutral + product_of(x, b), variance = product_of(x, x);
  if (!std::isfinite(expected) || !std::isfinite(variance)) return {kNeutral, 0};
  return {std::clamp(expected, 0.0, 1.0),
          std::sqrt(std::min(variance, static_cast<double>(kSize)))};
}

bool Regression::is_possible() const {
  if (count < 1 || count > kCountMax) return false;
  const int64_t most = count * Features::kSteps * Features::kSteps;
  if (products[0] != most) return false;  // of the constant
  for (size_t i = 0; i < kSize; ++i) {
    const int64_t reward_most = count * Features::kSteps * kRewardMost;
    if (rewards[i] < -reward_most || rewards[i] > reward_most) return false;
    for (size_t j = 0; j <= i; ++j) {
      const int64_t each = products[at(i, j)];
      if (each < 0 || each > most) return false;
    }
  }
  Triangle factor;
  return factorise(*this, factor) >= kPivotLeast;
}

}  // namespace signalbox::learning
