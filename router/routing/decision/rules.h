#pragma once
// Trees of conditions under AND, OR and NOT, compiled into one array. A decision's rules are such a
// tree, and so is the condition that a complexity signal may have.

#include <functional>
#include <span>
#include <vector>

#include "router/config/rule.h"
#include "router/routing/decision/value.h"

namespace signalbox::decision {

/// The number of the signal that a leaf asks for, or kNoSignal for one that is never available.
using NumberOf = std::function<uint32_t(const config::Rule& leaf)>;

/// How dear the evidence of a number is: 0 the request itself, 1 similarity, 2 a classifier.
using StageOf = std::function<uint32_t(uint32_t number)>;

/// Bounds on the stage that a node's match rests on, if it matches.
struct Stages {
  uint32_t low, high;
};

/// One node; parents stand before their children.
struct Node {
  config::Rule::Operator op;
  uint32_t signal;  // of a leaf
  uint32_t end;     // index after the last node of this subtree
  uint32_t stage;   // of a leaf
  const config::Rule* rule;
};

/// Immutable once every tree is added, and thread-safe then.
class Rules {
 public:
  /// Appends a tree and returns the index of its root. `rule` outlives this object. Without
  /// `stage_of` every leaf has stage 0.
  uint32_t add(const config::Rule& rule, const NumberOf& number_of, const StageOf& stage_of = {});

  /// Writes the value of every node to `values` (nodes().size()). `signals` holds a value for each
  /// number that a leaf has.
  void evaluate(std::span<const Value> signals, std::span<Value> values) const;

  /// Writes what every node's match rests on to `stages` (nodes().size()): of an AND the dearest of
  /// its children, of an OR the cheapest of those that match, and nothing (0) of a NOT.
  void find_stages(std::span<const Value> values, std::span<Stages> stages) const;

  std::span<const Node> nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace signalbox::decision
