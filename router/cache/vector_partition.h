#pragma once
// The rows of one partition and how the nearest of them are found. Callers see to it that nobody
// reads while it changes.

#include "router/cache/vector_index.h"
#include "router/cache/vector_rows.h"

namespace signalbox::cache {

class VectorPartition {
 public:
  VectorPartition(const kernels::Table& table, int32_t dim) : rows_(table, dim) {}

  const VectorRows& rows() const { return rows_; }
  Slot add(uint64_t id, const Point& x) {
    rows_.push(id, x);
    return rows_.size() - 1;
  }
  /// The row that moved to this slot has the id that is now there, if any.
  void remove(Slot slot) {
    rows_.copy(rows_.size() - 1, slot);
    rows_.pop();
  }
  std::vector<Hit> search(const Point& x, size_t k) const;
  size_t bytes() const { return sizeof *this + rows_.bytes(); }

 private:
  VectorRows rows_;
};

}  // namespace signalbox::cache
