// Stores entries in eviction order, under a checksum. Times are wall-clock times; entries that
// expired while no process ran are skipped. The vector index is stored in a file of its own, only
// to save the time to build it: its rows refer to entries by number, and missing rows are added.

#include <algorithm>
#include <limits>

#include "base/file.h"
#include "router/cache/memory_store.h"

namespace signalbox::cache {
namespace {

using vector_index::SnapshotReader;
using vector_index::SnapshotWriter;

constexpr std::string_view kMagic = "sbanswer";
constexpr uint32_t kSnapshotVersion = 1;
constexpr size_t kFileBytesMax = size_t{8} << 30;

std::filesystem::path index_path(std::filesystem::path path) {
  path += ".index";
  return path;
}

}  // namespace

struct MemoryStore::Saved {
  uint64_t number = 0, uses = 0;
  Entry entry;
};

Result<std::vector<MemoryStore::Saved>> MemoryStore::parse_saved(std::string_view bytes,
                                                                 const Clocks& now) {
  SIGNALBOX_TRY(SnapshotReader in, SnapshotReader::open(bytes));
  SIGNALBOX_TRY(const std::string_view magic, in.take(kMagic.size()));
  if (magic != kMagic) return fail(Code::kCorrupt, "the file is not a snapshot of the cache");
  SIGNALBOX_TRY(const uint32_t version, in.get<uint32_t>());
  if (version != kSnapshotVersion)
    return fail(Code::kUnsupported, "version {} of a snapshot; this program reads {}", version,
                kSnapshotVersion);
  SIGNALBOX_TRY(const uint64_t count, in.get<uint64_t>());
  std::vector<Saved> out;
  std::set<uint64_t> numbers;
  for (uint64_t i = 0; i < count; ++i) {
    Saved one;
    SIGNALBOX_TRY(one.number, in.get<uint64_t>());
    SIGNALBOX_TRY(one.uses, in.get<uint64_t>());
    SIGNALBOX_TRY(one.entry, take_entry(in, now));
    const bool has_vector = !one.entry.vector.empty();
    if (has_vector != (one.number != 0) || one.number == std::numeric_limits<uint64_t>::max() ||
        (has_vector && !numbers.insert(one.number).second))
      return fail(Code::kCorrupt, "entry {} has number {}", i, one.number);
    out.push_back(std::move(one));
  }
  if (in.left() != 0) return fail(Code::kCorrupt, "{} bytes after the last entry", in.left());
  return out;
}

Result<void> MemoryStore::save(const std::filesystem::path& path, const Clocks& now) {
  update_index();
  std::vector<Slot> slots;
  std::shared_ptr<vector_index::VectorIndex> index;
  {
    const std::lock_guard lock(mutex_);
    expire(now.steady);
    slots.assign(slots_.begin(), slots_.end());
    index = index_;
  }
  if (index != nullptr) SIGNALBOX_TRY_VOID(index->save(index_path(path)));
  SnapshotWriter out(path);
  std::string bytes;
  out.put(kMagic);
  out.put(kSnapshotVersion);
  out.put(static_cast<uint64_t>(slots.size()));
  for (const Slot& slot : slots) {
    out.put(slot.number);
    out.put(slot.uses);
    bytes.clear();
    append_entry(bytes, *slot.entry, now);
    out.put(std::string_view(bytes));
  }
  return out.commit();
}

Result<uint64_t> MemoryStore::load(const std::filesystem::path& path, const Clocks& now) {
  SIGNALBOX_TRY(const std::string bytes, read_file(path, kFileBytesMax));
  SIGNALBOX_TRY(std::vector<Saved> saved, parse_saved(bytes, now));
  const auto with_vector = std::ranges::find_if(saved, &Saved::number);
  if (with_vector == saved.end()) return restore(std::move(saved), nullptr, now);
  const auto dim = static_cast<int32_t>(with_vector->entry.vector.size());
  auto index = vector_index::VectorIndex::load({.dim = dim}, index_path(path));
  return restore(std::move(saved), index ? *std::move(index) : nullptr, now);
}

Result<uint64_t> MemoryStore::parse(std::string_view bytes, const Clocks& now) {
  SIGNALBOX_TRY(std::vector<Saved> saved, parse_saved(bytes, now));
  return restore(std::move(saved), nullptr, now);
}

uint64_t MemoryStore::restore(std::vector<Saved> saved,
                              std::unique_ptr<vector_index::VectorIndex> index, const Clocks& now) {
  {
    const std::lock_guard index_lock(indexing_);
    const std::lock_guard lock(mutex_);
    SIGNALBOX_CHECK(slots_.empty());
    for (Saved& each : saved) {
      next_number_ = std::max(next_number_, each.number + 1);
      auto entry = std::make_shared<const Entry>(std::move(each.entry));
      if (entry->expires <= now.steady || entry_bytes(*entry) > limits_.bytes) continue;
      if (each.number != 0 && (index == nullptr || !index->contains(each.number)))
        changes_.push_back({each.number, entry});
      if (limits_.entries != 0) insert(std::move(entry), each.number, each.uses);
    }
    if (index != nullptr) {
      for (const uint64_t number : index->ids()) {
        if (!by_number_.contains(number)) index->remove(number);
      }
      index_ = std::move(index);
      dim_ = index_->dim();
    }
  }
  update_index();
  return figures().entries;
}

}  // namespace signalbox::cache
