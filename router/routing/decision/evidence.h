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

/// Bounds on the number of scores that a node's match rests on, and on their mean. `sure` is both
/// if what is unknown stays unknown.
struct Evidence {
  struct Sure {
    uint32_t count = 0;
    double mean = 0;
  };
  uint32_t count_low = 0, count_high = 0;
  double low = 0, high = 0;
  Sure sure = {};

  bool is_settled() const { return count_low == count_high && low == high; }
};

/// Writes the evidence of every node of a tree to `out` (nodes): an AND has the scores of its
/// children, an OR those of its matching child with the best score. `values` is (nodes).
void find_evidence(std::span<const Node> nodes, uint32_t root, std::span<const Value> values,
                   std::span<Evidence> out);

}  // namespace signalbox::decision
