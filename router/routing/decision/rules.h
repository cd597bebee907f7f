#pragma once
// Trees of conditions under AND, OR and NOT, compiled into one array. A decision's rules form such
// a tree, and so does the condition that a complexity signal may have.

#include <functional>
#include <span>
#include <vector>

#include "router/config/signals.h"
#include "router/routing/decision/evidence.h"
#include "router/routing/decision/value.h"

namespace signalbox::decision {

/// Returns the number of the signal that a leaf tests, or kNoSignal if it is never available.
using NumberOf = std::function<uint32_t(const config::Rule& leaf)>;

/// Returns the cost class of a number's evidence: 0 the request itself, 1 similarity, 2 a
/// classifier, 3 a language model on a server.
using StageOf = std::function<uint32_t(uint32_t number)>;

/// Bounds on the stage of a node's match, if it matches.
struct Stages {
  uint32_t low, high;
};

/// One node; parents come before their children.
struct Node {
  config::Rule::Operator op;
  uint32_t signal;         // of a leaf
  uint32_t end;            // index after the last node of this subtree
  uint32_t stage;          // of a leaf
  config::ScoreKind kind;  // of a leaf
  const config::Rule* rule;
};

/// Immutable and thread-safe once every tree is added.
class Rules {
 public:
  /// Appends a tree and returns the index of its root. `rule` must outlive this object. Without
  /// `stage_of`, every leaf has stage 0.
  uint32_t add(const config::Rule& rule, const NumberOf& number_of, const StageOf& stage_of = {});

  /// Writes the value of every node to `values` (nodes().size()). `signals` holds one value for
  /// each number of a leaf.
  void evaluate(std::span<const Value> signals, std::span<Value> values) const;

  /// Writes the stage of every node's match to `stages` (nodes().size()): an AND has the highest
  /// stage of its children, an OR the lowest of its matching children, a NOT has stage 0.
  void find_stages(std::span<const Value> values, std::span<Stages> stages) const;

  std::span<const Node> nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace signalbox::decision
