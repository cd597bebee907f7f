#pragma once
// Answers in the memory of the process.

#include <list>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "router/cache/store.h"

namespace signalbox::router::cache {

/// Which entry goes when there is no room: the oldest, the one that has longest not been asked for,
/// or of the sixteen oldest the one that was asked for least.
enum class Eviction : uint8_t { kFifo, kLru, kLfu };

struct MemoryLimits {
  uint64_t entries = 1000;
  uint64_t bytes = uint64_t{256} << 20;  // of entries as entry_bytes() counts them
  Eviction eviction = Eviction::kFifo;
};

/// What an entry takes, what finds it included.
uint64_t entry_bytes(const Entry& entry);

/// One lock. A search for the nearest holds it while it compares the partition's vectors.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const MemoryLimits& limits) : limits_(limits) {}

  /// What is over them goes at once.
  void set_limits(const MemoryLimits& limits);

  Result<std::shared_ptr<const Entry>> find(std::string_view id, TimePoint now) override;
  Result<std::vector<Near>> nearest(std::string_view partition, std::span<const float> vector,
                                    double similarity, size_t most, TimePoint now) override;
  Result<void> put(Entry entry, TimePoint now) override;
  Result<uint64_t> remove(std::string_view id) override;
  Result<uint64_t> remove_all(const Filter& filter, TimePoint now) override;
  Result<std::vector<std::shared_ptr<const Entry>>> list(const Filter& filter, size_t most,
                                                         TimePoint now) override;
  StoreFigures figures() const override;

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    uint64_t uses = 0;
  };
  using Slots = std::list<Slot>;  // what goes next comes first
  using Position = Slots::iterator;

  void use(Position slot);
  void erase(Position slot);
  void expire(TimePoint now);
  void make_room();
  Position victim();

  mutable std::mutex mutex_;
  MemoryLimits limits_;
  Slots slots_;
  // Keys look into the entries of the slots.
  std::unordered_map<std::string_view, Position> by_id_;
  std::unordered_map<std::string, std::vector<Position>> by_partition_;  // those with vectors
  std::set<std::pair<TimePoint, std::string_view>> by_expiry_;
  StoreFigures figures_;
};

}  // namespace signalbox::router::cache
