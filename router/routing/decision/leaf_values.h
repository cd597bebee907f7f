#pragma once
// Computes the values that the leaves of rules test from the facts of a request: partitions, the
// conditions that complexity signals may have, projections, and leaves with a predicate or an
// on_error. Pure. Numbers are assigned first to the computed signals, then to the outputs of
// projections, then to the leaves.

#include "router/config/routing.h"
#include "router/routing/decision/projections.h"
#include "router/routing/decision/rules.h"

namespace signalbox::decision {

/// Compiled with the rules of a routing; immutable and thread-safe afterwards.
class LeafValues {
 public:
  /// Signals with numbers below `computed` are computed, and `find` finds them. At most
  /// `embeddings_max` embedding signals stay matches (0: all). kUnsupported if a complexity signal
  /// has a condition on a projection. `routing` must outlive the result.
  static Result<LeafValues> create(const config::Routing& routing, uint32_t computed, Find find,
                                   uint32_t embeddings_max = 0);

  /// The number of the value that a leaf tests. A leaf with a predicate or on_error gets a number
  /// of its own, so number every leaf before the first evaluate(). `on_failure` is the default if
  /// the leaf has no on_error. It applies to a signal that fails, not to one that is never
  /// available.
  uint32_t number_of(const config::Rule& leaf, config::Rule::OnError on_failure);

  /// The count of all numbers.
  uint32_t size() const { return first_test_ + static_cast<uint32_t>(tests_.size()); }
  const Projections& projections() const { return projections_; }

  /// `facts` is (computed signals), `values` is (size()), `scores` is (projections().scores()).
  void evaluate(std::span<const Fact> facts, std::span<Value> values, std::vector<Value>& scratch,
                std::span<Bounds> scores) const;

  /// The signal or projection that a leaf's number tests, and the effect of its failure.
  struct Target {
    uint32_t number;
    config::Rule::OnError on_error;
  };
  Target target_of(uint32_t number) const;

  /// The computed signals that a signal or projection depends on; for a plain signal, itself.
  std::vector<uint32_t> sources_of(uint32_t number) const;

  /// Sets needed[] (size()) for every number that a needed number depends on.
  void spread_needed(std::vector<bool>& needed) const;

 private:
  // A condition that readings of a complexity signal depend on.
  struct Gate {
    uint32_t root;  // in gate_rules_
    std::vector<uint32_t> signals;
  };
  struct Test {
    uint32_t signal;
    const config::Rule* leaf;
    config::Rule::OnError on_failure;
    std::vector<uint32_t> sources;  // if it tests a projection
  };

  Result<void> add_gates(const config::Routing& routing);
  void limit_embeddings(std::span<const Fact> facts, std::span<Value> values) const;
  Value test_open(const Test& test, std::span<const Fact> facts, const Value& value) const;
  Value test(const Test& test, std::span<const Fact> facts, std::span<const Value> values) const;

  Find find_;
  Projections projections_;
  Rules gate_rules_;
  std::vector<Gate> gates_;
  std::vector<uint32_t> embeddings_;  // the embedding signals, sorted by name
  uint32_t embeddings_max_ = 0;
  std::vector<Test> tests_;
  std::vector<std::vector<uint32_t>> depends_on_;  // by number, without the tests
  uint32_t computed_ = 0;
  uint32_t first_test_ = 0;
};

}  // namespace signalbox::decision
