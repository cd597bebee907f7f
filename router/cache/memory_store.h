#pragma once
// Stores answers in memory, and in a file between two runs of the process.

#include <deque>
#include <filesystem>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "router/cache/entry_codec.h"
#include "router/cache/store.h"
#include "router/vector_index/index.h"

namespace signalbox::cache {

/// The bytes that an entry occupies, including its index entries.
uint64_t entry_bytes(const Entry& entry);

/// One lock protects the entries and is held for microseconds. Vectors are in an index of their
/// own, which is searched outside the lock and updated afterwards.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const MemoryLimits& limits);

  /// Evicts entries beyond the new limits at once.
  void set_limits(const MemoryLimits& limits) override;

  Result<std::shared_ptr<const Entry>> find(std::string_view id, TimePoint now) override;
  Result<std::vector<Near>> nearest(std::string_view partition, std::span<const float> vector,
                                    double similarity, size_t most, TimePoint now) override;
  Result<void> put(Entry entry, TimePoint now) override;
  Result<uint64_t> remove(std::string_view id) override;
  Result<uint64_t> remove_all(const Filter& filter, TimePoint now) override;
  Result<std::vector<std::shared_ptr<const Entry>>> list(const Filter& filter, size_t most,
                                                         TimePoint now) override;
  StoreFigures figures() const override;
  bool is_near() const override { return true; }

  /// Removes this entry, but not another one that has replaced it.
  void forget(const std::shared_ptr<const Entry>& entry);

  /// Writes all entries that have not expired to `path`, and the index to the same path plus
  /// ".index". Errors: kIo.
  Result<void> save(const std::filesystem::path& path, const Clocks& now);
  /// Loads what save() wrote, in the same order, and returns the number of entries. Precondition:
  /// the store is empty. An index that does not fit is rebuilt. Errors: kNotFound, kIo, kTooLarge,
  /// kUnsupported for another version, kCorrupt for a file that is truncated, changed or
  /// inconsistent; the store then stays as it was.
  Result<uint64_t> load(const std::filesystem::path& path, const Clocks& now);
  /// The same for bytes in memory, without an index.
  Result<uint64_t> parse(std::string_view bytes, const Clocks& now);

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    uint64_t number = 0;  // of its vector in the index; 0: it has none
    uint64_t uses = 0;
  };
  using Slots = std::list<Slot>;  // in eviction order
  using Position = Slots::iterator;

  struct Saved;
  static Result<std::vector<Saved>> parse_saved(std::string_view bytes, const Clocks& now);
  uint64_t restore(std::vector<Saved> saved, std::unique_ptr<vector_index::VectorIndex> index,
                   const Clocks& now);

  // A change that the index does not contain yet.
  struct Change {
    uint64_t number;
    std::shared_ptr<const Entry> entry;  // nullptr: removed
  };

  void insert(std::shared_ptr<const Entry> entry, uint64_t number, uint64_t uses);
  void update_index();
  void apply(const Change& change);
  void use(Position slot);
  void erase(Position slot);
  void expire(TimePoint now);
  void make_room();
  Position victim();

  mutable std::mutex mutex_;
  MemoryLimits limits_;
  Slots slots_;
  // Keys are views of the entries in the slots.
  std::unordered_map<std::string_view, Position> by_id_;
  std::unordered_map<uint64_t, Position> by_number_;
  std::set<std::pair<TimePoint, std::string_view>> by_expiry_;
  StoreFigures figures_;
  uint64_t next_number_;        // unique to this process, so that an older index has no row with it
  std::deque<Change> changes_;  // in the order in which they happened
  std::shared_ptr<vector_index::VectorIndex> index_;  // nullptr until there is a vector

  std::mutex indexing_;  // serialises updates of the index; locked before mutex_
  int32_t dim_ = 0;      // of the index; guarded by indexing_
};

}  // namespace signalbox::cache
