// Searches the graph, links new nodes, and repairs the links around a removed node.

#include "router/vector_index/graph.h"

#include <algorithm>
#include <bit>

namespace signalbox::vector_index {
namespace {

constexpr int kLevelMax = 12;
constexpr size_t kDescentWidth = 16;  // on the levels above
constexpr size_t kBuildWidth = 128;   // beam width in the search for a new node's neighbours
constexpr uint32_t kLinksNew = 24;    // of a new node
constexpr uint32_t kLinksKept = 30;   // number of links that a full node is reduced to
constexpr uint32_t kLinksFew = 4;     // a node with at most this many is not dropped
constexpr size_t kRepairCandidates = 6;

// Vigna's splitmix64, so that consecutive ids give unrelated bits.
uint64_t mix_bits(uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

// Returns the slots with their cosines to x, nearest first.
std::vector<Found> sorted(const VectorRows& rows, const Point& x, std::span<const Slot> slots) {
  std::vector<float> cosines(slots.size());
  rows.cosines(x, slots, cosines.data());
  std::vector<Found> out;
  for (size_t i = 0; i < slots.size(); ++i) out.push_back({cosines[i], slots[i]});
  std::ranges::sort(out, is_nearer);
  return out;
}

// True if a candidate is nearer to one of the chosen nodes than to the node itself, so that it can
// be reached from there. A duplicate of a chosen node counts too; otherwise a node among many equal
// rows would link only to those.
bool is_covered(const VectorRows& rows, const Found& candidate, std::span<const Slot> chosen) {
  constexpr float kTwin = 1 - 1e-6f;
  float cosines[GraphLinks::kMax];
  rows.cosines(rows.point(candidate.slot), chosen, cosines);
  return std::any_of(cosines, cosines + chosen.size(),
                     [&](float cosine) { return cosine > candidate.cosine || cosine >= kTwin; });
}

// Selects up to `room` candidates (sorted, nearest first) that lie in different directions
// (algorithm 4 of the paper). Then adds the nearest of the others, up to `fill` in all.
GraphLinks select_diverse(const VectorRows& rows, std::span<const Found> candidates, uint32_t room,
                          uint32_t fill) {
  GraphLinks out{};
  std::vector<Slot> others;
  for (const Found& candidate : candidates) {
    if (out.count == room) break;
    if (is_covered(rows, candidate, out.span())) {
      others.push_back(candidate.slot);
    } else {
      out.push(candidate.slot);
    }
  }
  for (size_t i = 0; i < others.size() && out.count < fill; ++i) out.push(others[i]);
  return out;
}

}  // namespace

bool GraphLinks::contains(Slot slot) const {
  return std::find(slots, slots + count, slot) != slots + count;
}

void GraphLinks::erase(Slot slot) {
  Slot* at = std::find(slots, slots + count, slot);
  if (at != slots + count) *at = slots[--count];
}

VectorGraph::Plan::Change* VectorGraph::Plan::find(Slot slot, int level) {
  const auto at = std::ranges::find_if(
      changes_, [&](const Change& c) { return c.slot == slot && c.level == level; });
  return at == changes_.end() ? nullptr : &*at;
}

const GraphLinks& VectorGraph::Plan::links(const VectorGraph& graph, Slot slot, int level) {
  const Change* change = find(slot, level);
  return change != nullptr ? change->links : graph.links(slot, level);
}

GraphLinks& VectorGraph::Plan::edit(const VectorGraph& graph, Slot slot, int level) {
  if (Change* change = find(slot, level)) return change->links;
  changes_.push_back({slot, level, slot == added_ ? GraphLinks{} : graph.links(slot, level)});
  return changes_.back().links;
}

int VectorGraph::level_of(uint64_t id) const {
  return std::min(kLevelMax, std::countr_zero(mix_bits(id ^ seed_)) / 4);
}

const GraphLinks& VectorGraph::links(Slot slot, int level) const {
  return level == 0 ? *base_[slot] : upper_.find(slot)->second[static_cast<size_t>(level - 1)];
}

GraphLinks& VectorGraph::links(Slot slot, int level) {
  return const_cast<GraphLinks&>(std::as_const(*this).links(slot, level));
}

int VectorGraph::top_of(Slot slot) const {
  const auto found = upper_.find(slot);
  return found == upper_.end() ? 0 : static_cast<int>(found->second.size());
}

// Descends from the entry to some nodes near x on level `to`, where a beam of `width` then starts.
// The paper descends to a single node. If many rows lie close together, that node would be among
// them wherever x is.
void VectorGraph::descend(const VectorRows& rows, const Point& x, int to, size_t width,
                          Walk& walk) const {
  walk.beam.clear(top_ > to ? kDescentWidth : width);
  walk.beam.offer({rows.cosine(x, entry_), entry_});
  for (int level = top_; level > to; --level) {
    search_level(rows, x, level, walk);
    walk.beam.restart(level - 1 > to ? kDescentWidth : width);
  }
}

// Algorithm 2 of the paper, starting from the contents of the beam.
void VectorGraph::search_level(const VectorRows& rows, const Point& x, int level,
                               Walk& walk) const {
  walk.visited.clear();
  for (size_t i = 0; i < walk.beam.size(); ++i) walk.visited.insert(walk.beam[i].slot);
  Slot fresh[GraphLinks::kMax];
  float cosines[GraphLinks::kMax];
  for (Slot slot; (slot = walk.beam.take()) != kNoSlot;) {
    size_t n = 0;
    for (const Slot next : links(slot, level).span()) {
      if (walk.visited.insert(next)) fresh[n++] = next;
    }
    rows.cosines(x, {fresh, n}, cosines);
    for (size_t i = 0; i < n; ++i) walk.beam.offer({cosines[i], fresh[i]});
  }
}

void VectorGraph::search(const VectorRows& rows, const Point& x, size_t width, Walk& walk) const {
  walk.beam.clear(width);
  if (size_ == 0) return;
  descend(rows, x, 0, width, walk);
  search_level(rows, x, 0, walk);
}

VectorGraph::Plan VectorGraph::plan_add(const VectorRows& rows) const {
  Plan plan;
  plan.added_ = size_;
  plan.added_level_ = level_of(rows.id(size_));
  for (int level = plan.added_level_; level >= 0; --level) plan.edit(*this, size_, level);
  if (size_ == 0) return plan;

  const Point x = rows.point(size_);
  const int from = std::min(plan.added_level_, top_);
  Walk& walk = Walk::of_thread();
  descend(rows, x, from, kBuildWidth, walk);
  for (int level = from; level >= 0; --level) {
    search_level(rows, x, level, walk);
    const auto near = walk.beam.found();
    const uint32_t links_new = std::min(kLinksNew, room_of(level));
    const GraphLinks chosen = select_diverse(rows, near, links_new, links_new);
    for (const Slot to : chosen.span()) link(rows, size_, to, level, plan);
    walk.beam.restart(kBuildWidth);
  }
  return plan;
}

// Links a new node with `to`. If `to` is full, it drops other neighbours or rejects the new one.
void VectorGraph::link(const VectorRows& rows, Slot slot, Slot to, int level, Plan& plan) const {
  GraphLinks& there = plan.edit(*this, to, level);
  if (there.count == room_of(level)) {
    Slot all[GraphLinks::kMax + 1];
    std::copy_n(there.slots, there.count, all);
    all[there.count] = slot;
    const auto candidates = sorted(rows, rows.point(to), {all, there.count + 1});
    const uint32_t kept = std::min(kLinksKept, room_of(level) - 2);
    const GraphLinks chosen = select_diverse(rows, candidates, kept, kept);
    const GraphLinks before = there;
    for (const Slot other : before.span()) {
      if (chosen.contains(other)) continue;
      if (plan.links(*this, other, level).count <= kLinksFew) continue;
      there.erase(other);
      plan.edit(*this, other, level).erase(to);
    }
    const bool is_alone = plan.links(*this, slot, level).count == 0;
    if (there.count == room_of(level) || (!is_alone && !chosen.contains(slot))) return;
  }
  there.push(slot);
  plan.edit(*this, slot, level).push(to);
}

VectorGraph::Plan VectorGraph::plan_remove(const VectorRows& rows, Slot slot) const {
  Plan plan;
  plan.removed_ = slot;
  for (int level = top_of(slot); level >= 0; --level) {
    const auto around = links(slot, level).span();
    for (const Slot other : around) plan.edit(*this, other, level).erase(slot);
    repair(rows, around, level, plan);
  }
  return plan;
}

// Links nodes that lost a common neighbour with each other, if the link leads in a new direction or
// if one of them has few other links.
void VectorGraph::repair(const VectorRows& rows, std::span<const Slot> around, int level,
                         Plan& plan) const {
  for (const Slot slot : around) {
    GraphLinks& own_links = plan.edit(*this, slot, level);
    size_t tried = 0;
    for (const Found& candidate : sorted(rows, rows.point(slot), around)) {
      if (own_links.count == room_of(level) || tried == kRepairCandidates) break;
      if (candidate.slot == slot || own_links.contains(candidate.slot)) continue;
      ++tried;
      GraphLinks& other_links = plan.edit(*this, candidate.slot, level);
      if (other_links.count == room_of(level)) continue;
      if (own_links.count > kLinksFew && is_covered(rows, candidate, own_links.span())) continue;
      own_links.push(candidate.slot);
      other_links.push(slot);
    }
  }
}

void VectorGraph::apply(const Plan& plan) {
  if (plan.added_ != kNoSlot) {
    base_.resize(++size_);
    if (plan.added_level_ > 0) upper_[plan.added_].resize(static_cast<size_t>(plan.added_level_));
  }
  for (const Plan::Change& change : plan.changes_) links(change.slot, change.level) = change.links;
  if (plan.added_ != kNoSlot && (entry_ == kNoSlot || plan.added_level_ > top_)) {
    entry_ = plan.added_;
    top_ = plan.added_level_;
  }
  if (plan.removed_ == kNoSlot) return;
  upper_.erase(plan.removed_);
  if (plan.removed_ == entry_) entry_ = kNoSlot;
  if (plan.removed_ != size_ - 1) rename(size_ - 1, plan.removed_);
  base_.resize(--size_);
  if (entry_ == kNoSlot) choose_entry();
}

void VectorGraph::rename(Slot from, Slot to) {
  for (int level = top_of(from); level >= 0; --level) {
    for (const Slot other : links(from, level).span()) {
      GraphLinks& other_links = links(other, level);
      std::replace(other_links.slots, other_links.slots + other_links.count, from, to);
    }
  }
  *base_[to] = *base_[from];
  if (auto node = upper_.extract(from); !node.empty()) {
    node.key() = to;
    upper_.insert(std::move(node));
  }
  if (entry_ == from) entry_ = to;
}

// Selects a node of the highest existing level.
void VectorGraph::choose_entry() {
  top_ = 0;
  entry_ = size_ == 0 ? kNoSlot : 0;
  for (const auto& [slot, levels] : upper_) {
    const int level = static_cast<int>(levels.size());
    if (level < top_ || (level == top_ && slot > entry_)) continue;
    top_ = level;
    entry_ = slot;
  }
}

size_t VectorGraph::bytes() const {
  constexpr size_t kNode = sizeof(Slot) + sizeof(std::vector<GraphLinks>) + 4 * sizeof(void*);
  size_t out = sizeof *this + base_.bytes();
  for (const auto& [slot, levels] : upper_) out += kNode + levels.size() * sizeof(GraphLinks);
  return out;
}

}  // namespace signalbox::vector_index
