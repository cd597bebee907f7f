#pragma once
// A hierarchical navigable small world over the first rows of a partition: Malkov and Yashunin,
// "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small
// World graphs", 2016. Each row is a node of level 0, one in sixteen of level 1, and so on.
//
// Unlike there, a link always goes both ways: where a full node drops a neighbour, that one drops
// it, too. So all who know a node are its own neighbours, and removing it is a repair among them:
// nothing is marked and left to be swept, and any node can take another one's slot. Whoever changes
// a graph plans first, which only reads, so that searches go on meanwhile.

#include <deque>
#include <unordered_map>
#include <vector>

#include "router/vector_index/rows.h"
#include "router/vector_index/walk.h"

namespace signalbox::vector_index {

/// Two cache lines, so that looking around from a node costs two.
struct alignas(64) GraphLinks {
  static constexpr uint32_t kMax = 31;

  uint32_t count;
  Slot slots[kMax];  // (count), in no order

  std::span<const Slot> span() const { return {slots, count}; }
  bool contains(Slot slot) const;
  void push(Slot slot) { slots[count++] = slot; }
  void erase(Slot slot);
};
static_assert(sizeof(GraphLinks) == 128);

/// Links that a node may have on a level.
inline uint32_t room_of(int level) {
  return level == 0 ? GraphLinks::kMax : GraphLinks::kMax / 2;
}

class VectorGraph {
 public:
  /// What is to be written: whole lists of neighbours, and a node that comes or goes.
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

  /// Slots 0 to size - 1 of the rows are its nodes.
  Slot size() const { return size_; }

  /// Makes a node of slot size().
  Plan plan_add(const VectorRows& rows) const;
  /// Takes the node `slot` out.
  Plan plan_remove(const VectorRows& rows, Slot slot) const;
  /// Writes a plan that was made of this graph as it is. After a removal the last node has the slot
  /// that became free, and the caller moves its row.
  void apply(const Plan& plan);

  /// About the `width` nearest nodes to x, in walk.beam.
  void search(const VectorRows& rows, const Point& x, size_t width, Walk& walk) const;

  void write(SnapshotWriter& out) const;
  /// Into a graph that is empty. Errors: kCorrupt for links that lead nowhere or one way.
  Result<void> read(const VectorRows& rows, SnapshotReader& in);

  size_t bytes() const;

 private:
  int level_of(uint64_t id) const;
  const GraphLinks& links(Slot slot, int level) const;
  GraphLinks& links(Slot slot, int level);
  int top_of(Slot slot) const;

  void descend(const VectorRows& rows, const Point& x, int to, size_t width, Walk& walk) const;
  void look_around(const VectorRows& rows, const Point& x, int level, Walk& walk) const;
  void link(const VectorRows& rows, Slot slot, Slot to, int level, Plan& plan) const;
  void repair(const VectorRows& rows, std::span<const Slot> around, int level, Plan& plan) const;
  void rename(Slot from, Slot to);
  void choose_entry();
  Result<void> check_links(Slot slot, int level) const;

  uint64_t seed_;
  Slot size_ = 0;
  Slot entry_ = kNoSlot;
  int top_ = 0;                                              // level of the entry
  Grown<GraphLinks> base_;                                   // (1), of level 0
  std::unordered_map<Slot, std::vector<GraphLinks>> upper_;  // of levels 1, 2, ...
};

}  // namespace signalbox::vector_index
