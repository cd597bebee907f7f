// Approximates the curvature by ten pairs of steps and gradient changes.

#include "tools/fit/minimise.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace signalbox::tools {
namespace {

constexpr size_t kPairs = 10;
constexpr double kSufficientDecrease = 1e-4;  // of the decrease that the slope predicts
constexpr int kHalvingsMax = 30;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double largest(std::span<const double> v) {
  double out = 0;
  for (const double x : v) out = std::max(out, std::abs(x));
  return out;
}

struct Pair {
  std::vector<double> step, change;  // in x; in the gradient
  double scale;                      // 1 / (step . change)
};

// The gradient times the approximate inverse of the curvature, negated to point downhill.
std::vector<double> direction(const std::deque<Pair>& pairs, std::span<const double> gradient) {
  std::vector<double> d(gradient.begin(), gradient.end());
  std::vector<double> alpha(pairs.size());
  for (size_t i = pairs.size(); i-- > 0;) {
    alpha[i] = pairs[i].scale * dot(pairs[i].step, d);
    for (size_t j = 0; j < d.size(); ++j) d[j] -= alpha[i] * pairs[i].change[j];
  }
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    const double curvature = 1 / (last.scale * dot(last.change, last.change));
    for (double& x : d) x *= curvature;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double beta = pairs[i].scale * dot(pairs[i].change, d);
    for (size_t j = 0; j < d.size(); ++j) d[j] += (alpha[i] - beta) * pairs[i].step[j];
  }
  for (double& x : d) x = -x;
  return d;
}

}  // namespace

Minimum minimise(const Function& f, std::vector<double> start, const MinimiseOptions& options) {
  Minimum out;
  out.x = std::move(start);
  const size_t n = out.x.size();
  std::vector<double> gradient(n), next_gradient(n), next(n);
  out.value = f(out.x, gradient);
  std::deque<Pair> pairs;
  for (; out.iterations < options.iterations_max; ++out.iterations) {
    const double steepest = largest(gradient);
    if (steepest <= options.gradient_max) {
      out.converged = true;
      break;
    }
    std::vector<double> d = direction(pairs, gradient);
    double slope = dot(d, gradient);
    if (!(slope < 0)) {  // rounding has degraded the pairs
      pairs.clear();
      d = direction(pairs, gradient);
      slope = dot(d, gradient);
    }
    double length = pairs.empty() ? std::min(1.0, 1 / steepest) : 1;
    double value = 0;
    int halvings = 0;
    for (; halvings < kHalvingsMax; ++halvings, length /= 2) {
      for (size_t i = 0; i < n; ++i) next[i] = out.x[i] + length * d[i];
      value = f(next, next_gradient);
      if (value <= out.value + kSufficientDecrease * length * slope) break;
    }
    if (halvings == kHalvingsMax) break;
    Pair pair{std::vector<double>(n), std::vector<double>(n), 0};
    for (size_t i = 0; i < n; ++i) {
      pair.step[i] = next[i] - out.x[i];
      pair.change[i] = next_gradient[i] - gradient[i];
    }
    const double curvature = dot(pair.step, pair.change);
    if (curvature > 1e-12 * dot(pair.change, pair.change)) {
      pair.scale = 1 / curvature;
      pairs.push_back(std::move(pair));
      if (pairs.size() > kPairs) pairs.pop_front();
    }
    out.x.swap(next);
    gradient.swap(next_gradient);
    out.value = value;
  }
  return out;
}

}  // namespace signalbox::tools
