#pragma once
// Answers in the memory of the process, and in a file from one process to the next.

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

/// What an entry takes, what finds it included.
uint64_t entry_bytes(const Entry& entry);

/// One lock around the entries, held for microseconds. Vectors lie in an index of their own, which
/// is searched beside it and told afterwards what came and went.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const MemoryLimits& limits);

  /// What is over them goes at once.
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

  /// Removes the entry unless another one has taken its place.
  void forget(const std::shared_ptr<const Entry>& entry);

  /// Writes all that has not expired to `path`, and the index beside it under ".index". Errors:
  /// kIo.
  Result<void> save(const std::filesystem::path& path, const Clocks& now);
  /// Takes in what save() wrote, as if it had been put in that order, and returns how many entries
  /// there are. Precondition: nothing is in the store.
  /// An index that does not fit is built again. Errors: kNotFound, kIo, kTooLarge, kUnsupported for
  /// another version, kCorrupt for a file that is cut short, changed or contradicts itself; the
  /// store is then as it was.
  Result<uint64_t> load(const std::filesystem::path& path, const Clocks& now);
  /// The same of bytes in memory, without an index.
  Result<uint64_t> parse(std::string_view bytes, const Clocks& now);

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    uint64_t number = 0;  // its vector's in the index; 0: it has none
    uint64_t uses = 0;
  };
  using Slots = std::list<Slot>;  // what goes next comes first
  using Position = Slots::iterator;

  struct Saved;
  static Result<std::vector<Saved>> parse_saved(std::string_view bytes, const Clocks& now);
  uint64_t restore(std::vector<Saved> saved, std::unique_ptr<vector_index::VectorIndex> index,
                   const Clocks& now);

  // What the index has not been told of yet.
  struct Change {
    uint64_t number;
    std::shared_ptr<const Entry> entry;  // null: it is gone
  };

  void insert(std::shared_ptr<const Entry> entry, uint64_t number, uint64_t uses);
  void settle();
  void apply(const Change& change);
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
  std::unordered_map<uint64_t, Position> by_number_;
  std::set<std::pair<TimePoint, std::string_view>> by_expiry_;
  StoreFigures figures_;
  uint64_t next_number_;        // of this process alone, so that an older index has no row of it
  std::deque<Change> changes_;  // in the order in which they happened
  std::shared_ptr<vector_index::VectorIndex> index_;  // null until there is a vector

  std::mutex indexing_;  // of whoever tells the index; taken before mutex_
  int32_t dim_ = 0;      // of the index, by indexing_
};

}  // namespace signalbox::cache
