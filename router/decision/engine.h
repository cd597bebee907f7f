#pragma once
// Which decision a request gets, from what is known of its signals so far. Pure: no clock, no
// randomness, no file.
//
// A signal that has not been computed is an interval: it may match or not, with any confidence.
// Intervals go through AND, OR and NOT by Kleene's three-valued logic, so every decision has bounds
// on whether it matches and how surely, and the outcome is fixed as soon as one decision's bounds
// beat those of all others. What has not been computed by then need never be.

#include <cstdint>
#include <span>
#include <vector>

#include "router/config/routing.h"
#include "router/decision/rules.h"

namespace signalbox::router::decision {

inline constexpr int32_t kNoDecision = -1;

/// Work space of evaluate(), reused between requests. values: of each node.
struct Scratch {
  std::vector<Value> values;
};

struct Outcome {
  bool fixed = false;              // no signal that is still unknown changes `decision`
  int32_t decision = kNoDecision;  // the best of those that match for sure
  double confidence = 0;           // that it has at least
};

/// The compiled decisions of a configuration. Among those that match, the least tier wins, then the
/// greatest confidence; those without a tier come behind and follow routing.strategy. Immutable and
/// thread-safe.
class Engine {
 public:
  /// `routing` outlives the engine.
  Engine(const config::Routing& routing, const NumberOf& number_of);

  /// `signals` holds a value for each signal number.
  Outcome evaluate(std::span<const Value> signals, Scratch& scratch) const;

  /// Sets needed[signal] for each signal that is unknown and could change the outcome that
  /// evaluate() has just returned; leaves the others alone.
  void mark_needed(std::span<const Value> signals, const Scratch& scratch, const Outcome& outcome,
                   std::vector<bool>& needed) const;

  std::span<const Node> nodes() const { return rules_.nodes(); }
  /// Index of a decision's first node.
  uint32_t root(size_t decision) const { return roots_[decision]; }

 private:
  static constexpr uint32_t kNoTier = UINT32_MAX;  // behind every tier

  uint32_t tier(size_t decision) const;
  bool is_better(size_t a, double a_confidence, size_t b, double b_confidence) const;

  const config::Routing& routing_;
  Rules rules_;
  std::vector<uint32_t> roots_;      // (decisions)
  std::vector<uint32_t> name_rank_;  // (decisions) place in the order of names
};

}  // namespace signalbox::router::decision
