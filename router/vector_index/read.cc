// Stores a partition in a snapshot: its rows, and the links of every node on every level. Loading
// checks every property on which searches and changes rely, because they do no checks themselves.

#include <algorithm>

#include "router/vector_index/graph.h"

namespace signalbox::vector_index {

void VectorRows::write(SnapshotWriter& out) const {
  out.put(size_);
  for (Slot slot = 0; slot < size_; ++slot) {
    out.put(id(slot));
    out.put({reinterpret_cast<const char*>(codes_[slot]), stride_});
  }
}

Result<void> VectorRows::read(SnapshotReader& in) {
  SIGNALBOX_TRY(const Slot size, in.get<Slot>());
  if (size == 0 || size > in.left() / (sizeof(uint64_t) + stride_)) {
    return fail(Code::kCorrupt, "a partition of {} rows in {} bytes", size, in.left());
  }
  for (Slot slot = 0; slot < size; ++slot) {
    SIGNALBOX_TRY(const uint64_t id, in.get<uint64_t>());
    SIGNALBOX_TRY(const std::string_view bytes, in.take(stride_));
    const auto* codes = reinterpret_cast<const uint8_t*>(bytes.data());
    const float inverse = inverse_of(*table_, dim_, codes);
    if (inverse == 0) return fail(Code::kCorrupt, "the vector of id {} is zero", id);
    push(id, {codes, inverse});
  }
  return {};
}

void VectorGraph::write(SnapshotWriter& out) const {
  out.put(size_);
  out.put(entry_);
  for (Slot slot = 0; slot < size_; ++slot) {
    for (int level = 0; level <= top_of(slot); ++level) {
      const GraphLinks& list = links(slot, level);
      out.put({reinterpret_cast<const char*>(&list), sizeof(list.count) * (1 + list.count)});
    }
  }
}

Result<void> VectorGraph::read(const VectorRows& rows, SnapshotReader& in) {
  SIGNALBOX_TRY(const Slot size, in.get<Slot>());
  SIGNALBOX_TRY(const Slot entry, in.get<Slot>());
  if (size > rows.size() || (size == 0 ? entry != kNoSlot : entry >= size)) {
    return fail(Code::kCorrupt, "a graph of {} nodes with entry {} over {} rows", size, entry,
                rows.size());
  }
  base_.resize(size);
  for (Slot slot = 0; slot < size; ++slot) {
    const int top = level_of(rows.id(slot));
    if (top > 0) upper_[slot].resize(static_cast<size_t>(top));
    for (int level = 0; level <= top; ++level) {
      SIGNALBOX_TRY(const uint32_t count, in.get<uint32_t>());
      if (count > room_of(level)) {
        return fail(Code::kCorrupt, "node {} has {} links (at most {})", slot, count,
                    room_of(level));
      }
      SIGNALBOX_TRY(const std::string_view bytes, in.take(sizeof(Slot) * count));
      GraphLinks& list = links(slot, level);
      list.count = count;
      std::memcpy(list.slots, bytes.data(), bytes.size());
    }
  }
  size_ = size;
  for (Slot slot = 0; slot < size; ++slot) {
    for (int level = 0; level <= top_of(slot); ++level)
      SIGNALBOX_TRY_VOID(check_links(slot, level));
  }
  entry_ = entry;
  top_ = size == 0 ? 0 : top_of(entry);
  return {};
}

Result<void> VectorGraph::check_links(Slot slot, int level) const {
  const auto around = links(slot, level).span();
  for (size_t i = 0; i < around.size(); ++i) {
    const Slot other = around[i];
    const bool is_twice = std::ranges::count(around.first(i), other) > 0;
    if (is_twice || other >= size_ || other == slot || top_of(other) < level ||
        !links(other, level).contains(slot)) {
      return fail(Code::kCorrupt, "node {} has a link to {} on level {} that is {}", slot, other,
                  level, is_twice ? "duplicate" : "not mutual");
    }
  }
  return {};
}

}  // namespace signalbox::vector_index
