#pragma once
// From the facts of a request to the values that rules ask for: partitions, the conditions that
// complexity signals may have, projections, and leaves with bounds or an answer to errors. Pure.
// Numbers: first the signals that are computed, then the outputs of projections, then the leaves.

#include "router/config/routing.h"
#include "router/routing/decision/projections.h"
#include "router/routing/decision/rules.h"

namespace signalbox::decision {

/// Compiled with the rules of a routing, immutable and thread-safe afterwards.
class Derived {
 public:
  /// `computed` signals have the numbers below it, and `find` finds them. kUnsupported for a
  /// condition of a complexity signal on a projection. `routing` outlives the result.
  static Result<Derived> create(const config::Routing& routing, uint32_t computed, Find find);

  /// The number of what a leaf asks for. A leaf with a predicate or on_error gets one of its own,
  /// so every leaf is numbered before the first evaluate(). `on_failure` holds where the leaf says
  /// nothing of errors: for a signal that fails, not for one that is never available.
  uint32_t number_of(const config::Rule& leaf, config::Rule::OnError on_failure);

  /// How many numbers there are.
  uint32_t size() const { return first_test_ + static_cast<uint32_t>(tests_.size()); }
  const Projections& projections() const { return projections_; }

  /// `facts` of the computed signals; `values` is (size()), `scores` (projections().scores()).
  void evaluate(std::span<const Fact> facts, std::span<Value> values, std::vector<Value>& scratch,
                std::span<Bounds> scores) const;

  /// What a leaf's number stands for: the signal or projection it asks, and what a failure of that
  /// counts as.
  struct Asked {
    uint32_t number;
    config::Rule::OnError on_error;
  };
  Asked asked(uint32_t number) const;

  /// The computed signals that a signal or projection is made of; of a plain signal itself.
  std::vector<uint32_t> behind(uint32_t number) const;

  /// Sets needed[] (size()) for what stands behind a number that is needed.
  void spread_needed(std::vector<bool>& needed) const;

 private:
  // A condition on which readings of a complexity signal depend.
  struct Gate {
    uint32_t root;  // in gate_rules_
    std::vector<uint32_t> signals;
  };
  struct Test {
    uint32_t signal;
    const config::Rule* leaf;
    config::Rule::OnError on_failure;
    std::vector<uint32_t> behind;  // of a projection
  };

  Result<void> add_gates(const config::Routing& routing);
  Value test_open(const Test& test, std::span<const Fact> facts, const Value& value) const;
  Value test(const Test& test, std::span<const Fact> facts, std::span<const Value> values) const;

  Find find_;
  Projections projections_;
  Rules gate_rules_;
  std::vector<Gate> gates_;
  std::vector<Test> tests_;
  std::vector<std::vector<uint32_t>> depends_on_;  // by number, without the tests
  uint32_t computed_ = 0;
  uint32_t first_test_ = 0;
};

}  // namespace signalbox::decision
