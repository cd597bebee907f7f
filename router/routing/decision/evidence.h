#pragma once
// The scores that a decision rests on, which rank it by confidence. A decision rests on a score if
// a signal with a measured confidence makes it match. Other signals, predicates and NOT only decide
// whether it matches.

#include <cstdint>
#include <span>

#include "router/config/signals.h"
#include "router/routing/decision/value.h"

namespace signalbox::decision {

struct Node;

/// Scores of the same kind are compared. Those of kOther are not.
enum class ScoreKind : uint8_t { kNone, kProbability, kSimilarity, kOther };

/// The kind of a leaf's score; kNone: it has none.
ScoreKind score_kind(const config::Rule& leaf);
/// The kind of all scores in a tree; kNone: it has none, or scores that are not compared.
ScoreKind score_kind(std::span<const Node> nodes, uint32_t root);

/// Bounds on the number of scores that a node's match rests on, and on their mean.
struct Evidence {
  uint32_t count_low = 0, count_high = 0;
  double low = 0, high = 0;

  bool is_settled() const { return count_low == count_high && low == high; }
};

/// Writes the evidence of every node of a tree to `out` (nodes): an AND has the scores of its
/// children, an OR those of its matching child with the best score. `values` is (nodes).
void find_evidence(std::span<const Node> nodes, uint32_t root, std::span<const Value> values,
                   std::span<Evidence> out);

}  // namespace signalbox::decision
