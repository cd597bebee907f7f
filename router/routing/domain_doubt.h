#pragma once
// What the domain classifier's probabilities say of reasoning: each domain has a decision that says
// whether to reason, and plugins/entropy weighs them.

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
  /// `threshold` of the classifier, 0: 0.5.
  DomainDoubt(const config::Routing& routing, double threshold, signals::ModelChoice classifier);

  /// Why there is nothing to say; "" when there is a classifier.
  const std::string& unavailable() const { return classifier_.why; }
  /// Whether to reason about the user's last message. Nothing where it has not been classified.
  std::optional<bool> reasons(const signals::Inputs& inputs) const;

 private:
  double threshold_;
  signals::ModelChoice classifier_;
  std::vector<std::optional<bool>> flags_;  // (labels)
};

}  // namespace signalbox::routing
