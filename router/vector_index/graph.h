#pragma once
// A hierarchical navigable small world graph over the first rows of a partition: Malkov and
// Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable
// Small World graphs", 2016. Each row is a node of level 0; one row in sixteen is a node of level
// 1, and so on.
//
// Unlike in the paper, links are always mutual: if a full node drops a neighbour, that neighbour
// drops it too. So only a node's own neighbours link to it, and a removal only needs a repair among
// them. Nothing is marked for a later sweep, and any node can take the slot of another. A change is
// planned first. Planning only reads, so searches continue meanwhile.

#include <deque>
#include <unordered_map>
#include <vector>

#include "router/vector_index/rows.h"
#include "router/vector_index/walk.h"

namespace signalbox::vector_index {

/// The size of two cache lines, so that reading a node's neighbours touches two.
struct alignas(64) GraphLinks {
  static constexpr uint32_t kMax = 31;

  uint32_t count;
  Slot slots[kMax];  // (count), unordered

  std::span<const Slot> span() const { return {slots, count}; }
  bool contains(Slot slot) const;
  void push(Slot slot) { slots[count++] = slot; }
  void erase(Slot slot);
};
static_assert(sizeof(GraphLinks) == 128);

/// The maximum number of links of a node on a level.
inline uint32_t room_of(int level) {
  return level == 0 ? GraphLinks::kMax : GraphLinks::kMax / 2;
}

class VectorGraph {
 public:
  /// The writes of a change: whole lists of neighbours, and a node to add or to remove.
  class Plan {
   public:
    bool is_empty() const { return added_ == kNoSlot && removed_ == kNoSlot; }

   private:
    friend class VectorGraph;
    struct Change {
      Slot slot;
      int level;
      GraphLinks links;
    };
    Change* find(Slot slot, int level);
    const GraphLinks& links(const VectorGraph& graph, Slot slot, int level);
    GraphLinks& edit(const VectorGraph& graph, Slot slot, int level);

    std::deque<Change> changes_;
    Slot added_ = kNoSlot;
    int added_level_ = 0;
    Slot removed_ = kNoSlot;
  };

  explicit VectorGraph(uint64_t seed) : seed_(seed), base_(1) {}

  /// Slots 0 to size() - 1 of the rows are nodes of the graph.
  Slot size() const { return size_; }

  /// Plans to make slot size() a node.
  Plan plan_add(const VectorRows& rows) const;
  /// Plans to remove the node `slot`.
  Plan plan_remove(const VectorRows& rows, Slot slot) const;
  /// Applies a plan that was made for the current state of this graph. After a removal the last
  /// node has the free slot, and the caller must move its row.
  void apply(const Plan& plan);

  /// Finds approximately the `width` nearest nodes to x; they are in walk.beam.
  void search(const VectorRows& rows, const Point& x, size_t width, Walk& walk) const;

  void write(SnapshotWriter& out) const;
  /// Precondition: the graph is empty. Errors: kCorrupt for links to missing nodes and for one-way
  /// links.
  Result<void> read(const VectorRows& rows, SnapshotReader& in);

  size_t bytes() const;

 private:
  int level_of(uint64_t id) const;
  const GraphLinks& links(Slot slot, int level) const;
  GraphLinks& links(Slot slot, int level);
  int top_of(Slot slot) const;

  void descend(const VectorRows& rows, const Point& x, int to, size_t width, Walk& walk) const;
  void search_level(const VectorRows& rows, const Point& x, int level, Walk& walk) const;
  void link(const VectorRows& rows, Slot slot, Slot to, int level, Plan& plan) const;
  void repair(const VectorRows& rows, std::span<const Slot> around, int level, Plan& plan) const;
  void rename(Slot from, Slot to);
  void choose_entry();
  Result<void> check_links(Slot slot, int level) const;

  uint64_t seed_;
  Slot size_ = 0;
  Slot entry_ = kNoSlot;
  int top_ = 0;                                              // level of the entry
  BlockArray<GraphLinks> base_;                              // (1), of level 0
  std::unordered_map<Slot, std::vector<GraphLinks>> upper_;  // of levels 1, 2, ...
};

}  // namespace signalbox::vector_index
