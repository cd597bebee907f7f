#pragma once
// Which decision a request gets, from what is known of its signals so far. Pure: no clock, no
// randomness, no file.
//
// A signal that has not been computed is an interval: it may match or not, with any confidence.
// Intervals go through AND, OR and NOT by Kleene's three-valued logic, so every decision has bounds
// on whether it matches and how surely, and the outcome is fixed as soon as one decision's bounds
// beat those of all others. What has not been computed by then need never be.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"

namespace signalbox::router::decision {

/// Ordered: AND is the least of its children, OR the greatest, NOT turns the order around.
/// kUnavailable is the truth of a signal that cannot be computed at all: it does not match, and
/// neither does its NOT.
enum class Truth : uint8_t { kNo, kUnavailable, kYes };

/// Bounds on the truth of a node, and on the confidence that it has if it is kYes.
struct Value {
  Truth low = Truth::kNo;
  Truth high = Truth::kYes;
  double confidence_low = 0;
  double confidence_high = 1;

  static Value unknown() { return {}; }
  static Value unavailable() { return {Truth::kUnavailable, Truth::kUnavailable, 0, 0}; }
  static Value known(bool matched, double confidence) {
    if (!matched) return {Truth::kNo, Truth::kNo, 0, 0};
    return {Truth::kYes, Truth::kYes, confidence, confidence};
  }

  bool is_match() const { return low == Truth::kYes; }
  bool can_match() const { return high == Truth::kYes; }
  /// Nothing that is still unknown changes it.
  bool is_settled() const {
    return low == high && (low != Truth::kYes || confidence_low == confidence_high);
  }
};

inline constexpr uint32_t kNoSignal = UINT32_MAX;
inline constexpr int32_t kNoDecision = -1;

/// One node of a decision's rules; a tree lies in one array, parents before children.
struct Node {
  config::Rule::Operator op;
  uint32_t signal;  // of a leaf: the signal's number, or kNoSignal for one that is not built
  uint32_t end;     // index after the last node of this subtree
  const config::Rule* rule;
};

/// Work space of evaluate(), reused between requests. values: of each node.
struct Scratch {
  std::vector<Value> values;
};

struct Outcome {
  bool fixed = false;              // no signal that is still unknown changes `decision`
  int32_t decision = kNoDecision;  // the best of those that match for sure
  double confidence = 0;           // that it has at least
};

/// The compiled decisions of a configuration. Immutable and thread-safe.
class Engine {
 public:
  /// `number_of` maps a leaf to its signal's number below `signals`, or kNoSignal. `routing`
  /// outlives the engine.
  Engine(const config::Routing& routing,
         const std::function<uint32_t(const config::Rule& leaf)>& number_of);

  /// `signals` holds a value for each signal number.
  Outcome evaluate(std::span<const Value> signals, Scratch& scratch) const;

  /// Sets needed[signal] for each signal that is unknown and could change the outcome that
  /// evaluate() has just returned; leaves the others alone.
  void mark_needed(std::span<const Value> signals, const Scratch& scratch, const Outcome& outcome,
                   std::vector<bool>& needed) const;

  std::span<const Node> nodes() const { return nodes_; }
  /// Index of a decision's first node.
  uint32_t root(size_t decision) const { return roots_[decision]; }

 private:
  void compile(const config::Rule& rule,
               const std::function<uint32_t(const config::Rule&)>& number_of);
  bool is_better(size_t a, double a_confidence, size_t b, double b_confidence) const;

  const config::Routing& routing_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;      // (decisions)
  std::vector<uint32_t> name_rank_;  // (decisions) place in the order of names
};

}  // namespace signalbox::router::decision
