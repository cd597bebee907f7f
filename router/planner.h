#pragma once
// From an outcome to a plan: the model, what else is found out about the request for that, and the
// edits of the client's bytes.

#include <optional>
#include <span>
#include <vector>

#include "router/models.h"
#include "router/plan.h"
#include "router/plugins/difficulty.h"
#include "router/signals/inputs.h"
#include "router/signals/pii_finder.h"

namespace signalbox::router {

/// What is planned for: a decision, a model without one, or neither, which is the default model.
struct Subject {
  const config::Decision* decision = nullptr;
  const config::Model* named = nullptr;
  bool bypassed = false;  // nothing was decided; without a model, the client's is unknown
};

/// A condition of the decision that matches and is not under NOT.
struct Ground {
  std::string_view type;
  std::string_view name;
  double confidence;
  std::vector<std::string_view> evidence;
};

/// What models were asked for the plan's sake. Filled by Planner::prepare().
struct Prepared {
  bool looked_for_pii = false;
  std::vector<std::string> pii_types;  // that were found; complete if looked_for_pii
};

/// What is known of one request when it is planned.
struct Findings {
  Subject subject;
  double confidence = 0;                    // of the decision
  std::span<const decision::Value> values;  // by number
  std::vector<Ground> grounds;
  const Inputs& inputs;
  const Prepared& prepared;
};

/// Immutable and thread-safe.
class Planner {
 public:
  /// Numbers what it asks of signals by `number_of`. The configuration and the models outlive the
  /// result. Errors are classifier_of()'s.
  static Result<Planner> create(const config::Config& config, const Models& models,
                                const decision::NumberOf& number_of);

  /// Sets needed[number] for signals that are unknown and would change the plan.
  void mark_needed(const Subject& subject, std::span<const decision::Value> values,
                   std::vector<bool>& needed) const;
  /// Whether prepare() would run models.
  bool needs_models(const Subject& subject) const;
  /// Runs them: milliseconds. What an error leaves unknown, plan() takes for the worst.
  Result<void> prepare(const Subject& subject, Inputs& inputs, Prepared& prepared) const;

  /// kNotFound for a model that the client names and nobody has; kUnsupported when the decision
  /// needs a plugin that is not built.
  Result<Plan> plan(const Findings& findings) const;

  /// What an operator should know, one line each.
  std::vector<std::string> notices() const;

 private:
  Planner(const config::Config& config, const decision::NumberOf& number_of);

  using Refs = std::vector<const config::ModelRef*>;
  Refs candidates(const Subject& subject) const;
  bool looks_for_pii(const Subject& subject) const;
  void remove_restricted(const Prepared& prepared, Refs& candidates, Plan& plan) const;
  void set_reasoning_of(const config::ModelRef& ref, const config::DifficultyCase* difficulty,
                        const Findings& findings, Plan& plan) const;
  std::optional<bool> reasons_by_entropy(const Findings& findings) const;
  std::optional<bool> reasons_in(std::string_view domain_class) const;
  std::string edited(const Findings& findings, const config::DifficultyCase* difficulty,
                     const Plan& plan) const;

  const config::Config& config_;
  Difficulty difficulty_;
  std::vector<config::ModelRef> plain_refs_;  // one a model, for requests without a decision's
  std::optional<PiiFinder> pii_;
  double pii_threshold_ = 0;
  ModelChoice domain_;
};

}  // namespace signalbox::router
