#pragma once
// The rows of one partition and the search for the nearest of them. A small partition is scanned.
// From `graph_rows_min` rows on, a graph is built over them, some rows with each change, and rows
// that it does not contain yet are scanned. Non-const functions need exclusive access. A plan is
// made beforehand, while others read, and is valid until the next change.

#include <array>

#include "router/vector_index/graph.h"
#include "router/vector_index/index.h"
#include "router/vector_index/rows.h"

namespace signalbox::vector_index {

class VectorPartition {
 public:
  VectorPartition(const kernels::Table& table, const VectorIndexOptions& options)
      : options_(&options), rows_(table, options.dim), graph_(options.seed) {}

  const VectorRows& rows() const { return rows_; }

  /// Returns the slot of the new row.
  Slot add(uint64_t id, const Point& x);

  /// True if the graph should link another row; plan_link() and link() do that.
  bool has_unlinked_rows() const;
  VectorGraph::Plan plan_link() const { return graph_.plan_add(rows_); }
  void link(const VectorGraph::Plan& plan) { graph_.apply(plan); }

  VectorGraph::Plan plan_remove(Slot slot) const;
  /// Returns the slots that now hold another row, if they are below the size.
  std::array<Slot, 2> remove(Slot slot, const VectorGraph::Plan& plan);

  std::vector<Hit> search(const Point& x, size_t k) const;
  void write(SnapshotWriter& out) const;
  Result<void> read(SnapshotReader& in);  // precondition: it is empty
  size_t bytes() const { return sizeof *this + rows_.bytes() + graph_.bytes(); }

 private:
  size_t width() const;  // of a walk

  const VectorIndexOptions* options_;
  VectorRows rows_;
  VectorGraph graph_;  // over the first rows
};

}  // namespace signalbox::vector_index
