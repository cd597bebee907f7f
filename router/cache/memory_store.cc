// A list in eviction order, with four indexes into it.

#include "router/cache/memory_store.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace signalbox::cache {
namespace {

// The approximate size of nodes, tables and allocator overhead.
constexpr uint64_t kOverheadBytes = 512;
constexpr int kVictims = 16;
// The index compares in 8 bits and may still contain removed entries, so more hits are requested.
constexpr size_t kSpare = 8;

// Partitions are named by digests, and 64 bits of those distinguish them. A collision only costs
// neighbours.
uint64_t tag_of(std::string_view partition) {
  uint64_t tag = 0;
  const std::string_view digits = partition.substr(0, 16);
  std::from_chars(digits.data(), digits.data() + digits.size(), tag, 16);
  return tag;
}

}  // namespace

MemoryStore::MemoryStore(const MemoryLimits& limits)
    : limits_(limits),
      next_number_(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                         std::chrono::nanoseconds(1))) {}

uint64_t entry_bytes(const Entry& entry) {
  return kOverheadBytes + entry.id.size() + entry.partition.size() + entry.question.size() +
         entry.vector.size() * sizeof(float) + entry.reply.size() + entry.recipe.size() +
         entry.decision.size() + entry.model.size();
}

void MemoryStore::set_limits(const MemoryLimits& limits) {
  {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
    make_room();
  }
  update_index();
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
  std::shared_ptr<vector_index::VectorIndex> index;
  {
    const std::lock_guard lock(mutex_);
    index = index_;
  }
  std::vector<Near> out;
  if (index == nullptr) return out;
  const auto hits = index->search(tag_of(partition), vector, most + kSpare);
  if (!hits) return out;  // a vector of another length has no neighbours
  const std::lock_guard lock(mutex_);
  expire(now);
  for (const vector_index::Hit& hit : *hits) {
    const auto found = by_number_.find(hit.id);
    if (found == by_number_.end()) continue;
    const std::shared_ptr<const Entry>& entry = found->second->entry;
    if (entry->partition != partition || entry->vector.size() != vector.size()) continue;
    const double dot =
        std::inner_product(vector.begin(), vector.end(), entry->vector.begin(), 0.0F);
    if (dot >= similarity) out.push_back({entry, dot});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Near::similarity);
  out.resize(std::min(most, out.size()));
  return out;
}

Result<void> MemoryStore::put(Entry entry, TimePoint now) {
  const uint64_t bytes = entry_bytes(entry);
  auto shared = std::make_shared<const Entry>(std::move(entry));
  {
    const std::lock_guard lock(mutex_);
    expire(now);
    if (bytes > limits_.bytes || limits_.entries == 0) {
      return fail(Code::kTooLarge, "an answer of {} bytes is larger than the cache ({})", bytes,
                  limits_.bytes);
    }
    const uint64_t number = shared->vector.empty() ? 0 : next_number_++;
    if (number != 0) changes_.push_back({number, shared});
    insert(std::move(shared), number, 0);
  }
  update_index();
  return {};
}

// The caller adds the number to the index, or has done so.
void MemoryStore::insert(std::shared_ptr<const Entry> entry, uint64_t number, uint64_t uses) {
  if (const auto old = by_id_.find(entry->id); old != by_id_.end()) erase(old->second);
  const Position slot = slots_.insert(slots_.end(), {std::move(entry), number, uses});
  const Entry& kept = *slot->entry;
  by_id_.emplace(kept.id, slot);
  by_expiry_.emplace(kept.expires, kept.id);
  if (number != 0) by_number_.emplace(number, slot);
  ++figures_.entries;
  figures_.bytes += entry_bytes(kept);
  make_room();
}

// Inserting a row into the graph takes milliseconds, so lookups do not wait for it. Changes are
// applied in order, by one thread at a time.
void MemoryStore::update_index() {
  const std::lock_guard index_lock(indexing_);
  for (;;) {
    Change change;
    {
      const std::lock_guard lock(mutex_);
      if (changes_.empty()) return;
      change = std::move(changes_.front());
      changes_.pop_front();
    }
    apply(change);
  }
}

void MemoryStore::apply(const Change& change) {
  if (change.entry == nullptr) {
    if (index_ != nullptr) index_->remove(change.number);
    return;
  }
  const std::vector<float>& vector = change.entry->vector;
  const auto dim =
      static_cast<int32_t>(std::min(vector.size(), size_t{vector_index::VectorIndex::kDimMax} + 1));
  if (dim != dim_) {  // from another model: old vectors are not comparable
    auto made = vector_index::VectorIndex::create({.dim = dim});
    if (!made) return;
    const std::lock_guard lock(mutex_);
    index_ = *std::move(made);
    dim_ = dim;
  }
  // An entry whose vector cannot be compared is found by its id alone.
  static_cast<void>(index_->add(change.number, tag_of(change.entry->partition), vector));
}

Result<uint64_t> MemoryStore::remove(std::string_view id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return uint64_t{0};
    erase(found->second);
  }
  update_index();
  return uint64_t{1};
}

void MemoryStore::forget(const std::shared_ptr<const Entry>& entry) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(entry->id);
    if (found == by_id_.end() || found->second->entry != entry) return;
    erase(found->second);
  }
  update_index();
}

Result<uint64_t> MemoryStore::remove_all(const Filter& filter, TimePoint now) {
  uint64_t removed = 0;
  {
    const std::lock_guard lock(mutex_);
    expire(now);
    for (Position slot = slots_.begin(); slot != slots_.end();) {
      const Position next = std::next(slot);
      if (filter.holds(*slot->entry, now)) {
        erase(slot);
        ++removed;
      }
      slot = next;
    }
  }
  update_index();
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
  if (slot->number != 0) {
    by_number_.erase(slot->number);
    changes_.push_back({slot->number, nullptr});
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

// Never evicts the newest entry, because it has had no time to be used.
MemoryStore::Position MemoryStore::victim() {
  Position least = slots_.begin();
  if (limits_.eviction != Eviction::kLfu) return least;
  int examined = 0;
  for (Position slot = slots_.begin();
       slot != slots_.end() && std::next(slot) != slots_.end() && examined < kVictims; ++slot) {
    if (slot->uses < least->uses) least = slot;
    ++examined;
  }
  return least;
}

}  // namespace signalbox::cache
