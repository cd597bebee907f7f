#pragma once
// Decides on reasoning from the probabilities of the domain classifier: each domain has a decision
// that switches reasoning on or off, and plugins/entropy weighs these settings by probability.

#include <optional>
#include <string>
#include <vector>

#include "router/config/routing.h"
#include "router/signals/inputs.h"
#include "router/signals/types.h"

namespace signalbox::routing {

/// Immutable and thread-safe.
class DomainDoubt {
 public:
  /// `threshold` belongs to the classifier; 0 means 0.5.
  DomainDoubt(const config::Routing& routing, double threshold, signals::ModelChoice classifier);

  /// The reason why reasons() has no result; "" if there is a classifier.
  const std::string& unavailable() const { return classifier_.why; }
  /// True to reason about the user's last message, false not to; nullopt if it has not been
  /// classified.
  std::optional<bool> reasons(const signals::Inputs& inputs) const;

 private:
  double threshold_;
  signals::ModelChoice classifier_;
  std::vector<std::optional<bool>> flags_;  // (labels)
};

}  // namespace signalbox::routing
