#pragma once
// Minimises a smooth function of many variables by L-BFGS (Nocedal and Wright, "Numerical
// Optimization", 2006, algorithms 7.4 and 7.5), with steps that are halved until the function
// decreases enough (3.1).

#include <functional>
#include <span>
#include <vector>

namespace signalbox::tools {

/// Returns f(x) and writes its gradient; x and the gradient are (n).
using Function = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct MinimiseOptions {
  int iterations_max = 300;
  double gradient_max = 1e-5;  // stop when every component is at most this large
};

struct Minimum {
  std::vector<double> x;
  double value = 0;
  int iterations = 0;
  bool converged = false;  // false: iterations_max reached, or no step decreases the value
};

/// Starts at `start`. Deterministic.
Minimum minimise(const Function& f, std::vector<double> start, const MinimiseOptions& options);

}  // namespace signalbox::tools
