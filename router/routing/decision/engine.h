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
#include "router/routing/decision/rules.h"

namespace signalbox::decision {

inline constexpr int32_t kNoDecision = -1;

/// Work space of evaluate(), reused between requests. values: of each node.
struct Scratch {
  std::vector<Value> values;
  std::vector<Stages> stages;  // with strategy fusion
};

struct Outcome {
  bool fixed = false;              // no signal that is still unknown changes `decision`
  int32_t decision = kNoDecision;  // the best of those that match for sure
  double confidence = 0;           // that it has at least
};

/// The compiled decisions of a configuration. Among those that match, the least tier wins, then the
/// greatest confidence; those without a tier come behind and follow routing.strategy:
///   priority    priority, confidence, name
///   confidence  confidence, priority, name
///   fusion      those of override_confidence or more, then the others; among either, what the
///               cheapest evidence carries (the request's own, then similarity, then classifiers),
///               then as confidence. An extension of ours. Without override_confidence a match of
///               cheap evidence settles the outcome, and nothing dearer is asked.
/// Immutable and thread-safe.
class Engine {
 public:
  /// `routing` outlives the engine. `stage_of` is for fusion.
  Engine(const config::Routing& routing, const NumberOf& number_of, const StageOf& stage_of = {});

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
  // What ranks a decision that matches, at its least or at its most.
  struct Rank {
    double confidence;
    uint32_t stage;
  };
  Rank least(size_t decision, const Scratch& scratch) const;
  Rank most(size_t decision, const Scratch& scratch) const;
  // Whether nothing that is still unknown changes what a node says or ranks.
  bool is_closed(uint32_t node, const Scratch& scratch) const;
  bool is_better(size_t a, const Rank& a_rank, size_t b, const Rank& b_rank) const;

  const config::Routing& routing_;
  Rules rules_;
  std::vector<uint32_t> roots_;      // (decisions)
  std::vector<uint32_t> name_rank_;  // (decisions) place in the order of names
};

}  // namespace signalbox::decision
