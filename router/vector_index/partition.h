#pragma once
// The rows of one partition and how the nearest of them are found: all are compared while they are
// few; from `graph_rows_min` on a graph grows over them, some rows with each change, and those that
// it has not reached yet are compared. Functions that are not const want to be alone; a plan is
// made before, while others read, and stays good until the next change.

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

  /// The slot of the new row.
  Slot add(uint64_t id, const Point& x);

  /// Whether the graph should reach a row more, and how.
  bool is_behind() const;
  VectorGraph::Plan plan_link() const { return graph_.plan_add(rows_); }
  void link(const VectorGraph::Plan& plan) { graph_.apply(plan); }

  VectorGraph::Plan plan_remove(Slot slot) const;
  /// Slots in which another row lies now, if they are below the size.
  std::array<Slot, 2> remove(Slot slot, const VectorGraph::Plan& plan);

  std::vector<Hit> search(const Point& x, size_t k) const;
  void write(SnapshotWriter& out) const;
  Result<void> read(SnapshotReader& in);  // into an empty one
  size_t bytes() const { return sizeof *this + rows_.bytes() + graph_.bytes(); }

 private:
  size_t width() const;  // of a walk

  const VectorIndexOptions* options_;
  VectorRows rows_;
  VectorGraph graph_;  // over the first of the rows
};

}  // namespace signalbox::vector_index
