#pragma once
// Embeds the files of stores on threads of its own, and searches them. The vectors of the present
// model are in one index; each entry of a store is a partition of it, so that a search looks only
// at the entries that its filter admits.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "router/vector_stores/disk_records.h"
#include "router/vector_stores/registry.h"

namespace signalbox::vector_stores {

/// The registry and its locks. A thread that changes records holds `changing`, and also `mutex`
/// while it changes the registry. No thread waits for a disk or a model while it holds `mutex`.
struct SharedRegistry {
  std::mutex changing;
  mutable std::mutex mutex;
  Registry registry;
};

/// Thread-safe.
class Indexer {
 public:
  /// Both outlive it.
  Indexer(SharedRegistry& shared, const DiskRecords& disk, uint32_t workers);
  /// Stops the work in progress.
  ~Indexer();

  void set_embedder(Embedder embedder);
  /// Embeds a new entry.
  void add(uint64_t number);
  /// Removes an entry's chunks from the index. Call it after the entry has left the registry.
  void remove(uint64_t number, size_t chunks);

  /// Searches the store of that id, whoever owns it.
  Result<std::vector<Found>> search(std::string_view id, const Search& search,
                                    const engine::Patience& patience) const;

 private:
  using Index = std::shared_ptr<vector_index::VectorIndex>;  // shared with searches in progress

  /// The period in which one embedding model is in use.
  struct Round {
    uint64_t number = 0;  // 0: there was no model yet
    Embedder embedder;
    Index index = nullptr;
  };
  struct Job {
    Entry entry;
    File file;
    Round round;
    size_t chunks_max = 0;
    uint64_t bytes_max = 0;
  };
  enum class Outcome : uint8_t { kDone, kLater };
  void work(const std::stop_token& stop);
  std::optional<Job> take(const std::stop_token& stop);
  void finish(const Job& job, Outcome outcome);
  Outcome run(const Job& job, const std::stop_token& stop);
  Result<Embedded> embed(const Job& job, const std::stop_token& stop) const;
  bool is_wanted(const Job& job) const;
  bool is_open(const Job& job) const;  // the same, under the lock of the registry
  /// Reads the vectors from the disk. Errors: those of reading; kNotFound if another model made
  /// them.
  Result<void> restore(const Job& job);
  /// The admission of chunks. kRequired: they must fit the limits. kGranted: they were on the disk,
  /// so they were admitted before.
  enum class Admission : uint8_t { kRequired, kGranted };
  /// Returns false if the entry is not wanted any more.
  Result<bool> publish(const Job& job, Embedded embedded, Admission admission);
  /// Returns false if the entry is not wanted any more. Under the lock of the registry.
  Result<bool> enter(const Job& job, Chunks chunks, uint64_t bytes, Admission admission);
  void fail_entry(const Job& job, const Error& error);
  Job job_of(const Entry& entry) const;  // under the lock of the registry

  SharedRegistry& shared_;
  const DiskRecords& disk_;
  // All under shared_.mutex.
  Round round_;
  std::deque<uint64_t> waiting_;
  std::set<uint64_t> running_;
  std::condition_variable_any wake_;
  std::vector<std::jthread> threads_;
};

}  // namespace signalbox::vector_stores
