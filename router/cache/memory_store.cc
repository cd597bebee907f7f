// A list in the order of leaving and three ways into it.

#include "router/cache/memory_store.h"

#include <algorithm>
#include <numeric>

namespace signalbox::router::cache {
namespace {

// Of nodes, tables and allocators, about.
constexpr uint64_t kOverheadBytes = 512;
constexpr int kVictims = 16;

}  // namespace

uint64_t entry_bytes(const Entry& entry) {
  return kOverheadBytes + entry.id.size() + entry.partition.size() + entry.question.size() +
         entry.vector.size() * sizeof(float) + entry.reply.size() + entry.recipe.size() +
         entry.decision.size() + entry.model.size();
}

void MemoryStore::set_limits(const MemoryLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  make_room();
}

Result<std::shared_ptr<const Entry>> MemoryStore::find(std::string_view id, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::shared_ptr<const Entry>();
  const Position slot = found->second;
  use(slot);
  return slot->entry;
}

Result<std::vector<Near>> MemoryStore::nearest(std::string_view partition,
                                               std::span<const float> vector, double similarity,
                                               size_t most, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  std::vector<Near> out;
  const auto found = by_partition_.find(std::string(partition));
  if (found == by_partition_.end()) return out;
  for (const Position slot : found->second) {
    const std::vector<float>& other = slot->entry->vector;
    if (other.size() != vector.size()) continue;
    const double dot = std::inner_product(vector.begin(), vector.end(), other.begin(), 0.0F);
    if (dot >= similarity) out.push_back({slot->entry, dot});
  }
  const auto middle = out.begin() + static_cast<std::ptrdiff_t>(std::min(most, out.size()));
  std::partial_sort(out.begin(), middle, out.end(),
                    [](const Near& a, const Near& b) { return a.similarity > b.similarity; });
  out.erase(middle, out.end());
  return out;
}

Result<void> MemoryStore::put(Entry entry, TimePoint now) {
  const uint64_t bytes = entry_bytes(entry);
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(mutex_);
  expire(now);
  if (bytes > limits_.bytes || limits_.entries == 0)
    return fail(Code::kTooLarge, "an answer of {} bytes; the cache holds {}", bytes, limits_.bytes);
  if (const auto old = by_id_.find(shared->id); old != by_id_.end()) erase(old->second);
  const Position slot = slots_.insert(slots_.end(), {shared, 0});
  by_id_.emplace(shared->id, slot);
  by_expiry_.emplace(shared->expires, shared->id);
  if (!shared->vector.empty()) by_partition_[shared->partition].push_back(slot);
  ++figures_.entries;
  figures_.bytes += bytes;
  make_room();
  return {};
}

Result<uint64_t> MemoryStore::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return uint64_t{0};
  erase(found->second);
  return uint64_t{1};
}

Result<uint64_t> MemoryStore::remove_all(const Filter& filter, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  uint64_t removed = 0;
  for (Position slot = slots_.begin(); slot != slots_.end();) {
    const Position next = std::next(slot);
    if (filter.holds(*slot->entry, now)) {
      erase(slot);
      ++removed;
    }
    slot = next;
  }
  return removed;
}

Result<std::vector<std::shared_ptr<const Entry>>> MemoryStore::list(const Filter& filter,
                                                                    size_t most, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  std::vector<std::shared_ptr<const Entry>> out;
  for (const Slot& slot : slots_) {
    if (filter.holds(*slot.entry, now)) out.push_back(slot.entry);
  }
  std::ranges::stable_sort(out,
                           [](const auto& a, const auto& b) { return a->created > b->created; });
  out.resize(std::min(most, out.size()));
  return out;
}

StoreFigures MemoryStore::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

void MemoryStore::use(Position slot) {
  ++slot->uses;
  if (limits_.eviction == Eviction::kLru) slots_.splice(slots_.end(), slots_, slot);
}

void MemoryStore::erase(Position slot) {
  const std::shared_ptr<const Entry> entry = slot->entry;
  if (const auto partition = by_partition_.find(entry->partition);
      partition != by_partition_.end()) {
    std::erase(partition->second, slot);
    if (partition->second.empty()) by_partition_.erase(partition);
  }
  by_expiry_.erase({entry->expires, entry->id});
  by_id_.erase(entry->id);
  slots_.erase(slot);
  --figures_.entries;
  figures_.bytes -= entry_bytes(*entry);
}

void MemoryStore::expire(TimePoint now) {
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    erase(by_id_.at(by_expiry_.begin()->second));
    ++figures_.expired;
  }
}

void MemoryStore::make_room() {
  while (figures_.entries > limits_.entries || figures_.bytes > limits_.bytes) {
    erase(victim());
    ++figures_.evictions;
  }
}

// The newest is never one: it has had no time to be asked for.
MemoryStore::Position MemoryStore::victim() {
  Position least = slots_.begin();
  if (limits_.eviction != Eviction::kLfu) return least;
  int looked_at = 0;
  for (Position slot = slots_.begin();
       slot != slots_.end() && std::next(slot) != slots_.end() && looked_at < kVictims; ++slot) {
    if (slot->uses < least->uses) least = slot;
    ++looked_at;
  }
  return least;
}

}  // namespace signalbox::router::cache
