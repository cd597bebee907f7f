#pragma once
// The store behind row_memories.h: the functions for requests (row_memories.cc), the changes of
// rows (row_changes.cc), and the thread that follows the deletions of all routers (row_follow.cc).

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "router/shared_memories/copies.h"
#include "router/shared_memories/journal.h"
#include "router/shared_memories/row_memories.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_memories {

/// The rows of one user at the server.
struct OwnerRows {
  Index index = {};                                     // of memories that count
  std::vector<std::pair<std::string, IndexEntry>> all;  // all memories, deleted ones included
  std::set<std::string, std::less<>> deletions = {};    // ids of the rows of deletions
  uint64_t forgotten = 0;                               // the newest deletion of everything
  uint64_t moment = 0;                                  // the newest of any row
};

/// Thread-safe.
class RowMemories final : public SharedMemories {
 public:
  RowMemories(std::unique_ptr<RowServer> server, const RowOptions& options);
  ~RowMemories() override;

  void set_limits(const memories::MemoryLimits& limits) override;
  Result<std::vector<memories::Found>> search(std::string_view user, const memories::Vector& vector,
                                              size_t most, double similarity_min,
                                              const memories::WordQuery* words,
                                              memories::TimePoint now) override;
  void use(std::string_view user, std::span<const std::string> ids,
           memories::TimePoint now) override;
  uint64_t moment() const override { return moment_; }
  Result<std::string> add(std::string_view user, memories::Memory memory,
                          const memories::Vector& vector, uint64_t moment,
                          memories::TimePoint now) override;
  Result<Page> list(std::string_view user, size_t most, memories::TimePoint now) override;
  Result<std::optional<memories::Memory>> find(std::string_view user, std::string_view id,
                                               memories::TimePoint now) override;
  Result<bool> forget(std::string_view user, std::string_view id) override;
  Result<size_t> forget_all(std::string_view user) override;
  Size size() const override { return copies_.size(); }
  std::optional<Shared> shared() const override;
  size_t drain(std::chrono::steady_clock::time_point until) override { return queue_.drain(until); }

 private:
  using Clock = std::chrono::steady_clock;

  memories::MemoryLimits limits() const {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  bool is_readable() const;
  bool takes_deletions() const;
  bool is_deleted(std::string_view owner, std::string_view id, uint64_t moment) const;
  /// Logs an error of the server once, and returns what the caller may know.
  tl::unexpected<Error> log_and_hide(const Error& error, tl::unexpected<Error> shown);

  // Rows.
  /// Checks the collection at the first call, and makes a missing one unless `dimension` is 0,
  /// which stands for an unknown dimension. Returns whether there is a collection. Errors: kInvalid
  /// for a vector that does not fit.
  Result<bool> prepare(size_t dimension);
  Result<bool> prepare_collection(size_t dimension);
  Result<Rows> query(const RowQuery& query);
  /// After the loss of the collection, nothing is read until the thread has restored it.
  template <class T>
  Result<T> noted(Result<T> done) {
    if (!done && done.error().code == Code::kNotFound) {
      is_ready_ = false;
      is_lost_ = true;
    }
    return done;
  }
  Result<void> upsert(std::span<const Row> rows);
  Result<void> remove(std::span<const std::string> ids);
  /// Errors also: kTooLarge if the reply has kRowsMax rows, unless some may be missing.
  Result<OwnerRows> rows_of(const std::string& owner, memories::TimePoint now,
                            bool may_miss_some = false);
  Result<Records> read_records(const std::string& owner, std::span<const std::string> ids);
  /// Fails after some seconds. The records that were read by then are copied, and the next search
  /// continues after them.
  ReadRecords reader(const std::string& owner);
  /// The index of the memories that count, for readers.
  Result<Index> read_index(const std::string& owner, memories::TimePoint now);

  // Changes.
  void queue(WrittenPointer memory);
  Result<void> write(const WrittenPointer& memory);
  std::vector<std::string> in_excess(const OwnerRows& rows, const std::string& id,
                                     memories::TimePoint now) const;
  Result<void> write_uses(const std::string& owner, const std::vector<std::string>& ids,
                          memories::TimePoint now);
  int64_t end_of(const IndexEntry& entry) const;
  Result<bool> delete_one(Deletion deletion);
  Result<size_t> delete_all(Deletion deletion);
  Result<void> write_deletions(std::span<const Deletion> deletions);
  /// Removes the memories that a written deletion names. Errors also: kUpstream if the server then
  /// returns neither the deletion's row nor that of a later deletion of everything, or still
  /// returns one of the removed rows.
  Result<void> carry_out(const Deletion& deletion);
  uint64_t next_moment() const;
  void learn(const Deletion& deletion);

  // The thread.
  void follow();
  Result<void> follow_once();
  void begin_again();
  Result<void> read_deletions();
  Result<void> restore_deletions();
  /// Leaves out the deletions that the server has.
  Result<void> keep_lost(std::vector<Deletion>& deletions);
  Result<void> restore_records();
  /// Removes expired rows. An error is only logged, because the server counts as working while it
  /// can be read.
  void purge();
  Result<void> remove_expired();
  /// Adds the ids of the rows that go with an expired one.
  Result<void> add_purged(const Row& row, std::vector<std::string>& to);
  bool sleeps_and_ends(std::chrono::milliseconds time);
  bool ends();

  const RowOptions options_;
  const std::unique_ptr<RowServer> server_;
  memories::LocalMemories copies_;  // by owner
  std::mutex prepare_mutex_;
  std::condition_variable prepared_;
  bool is_preparing_ = false;  // guarded by prepare_mutex_: one thread at a time prepares
  std::atomic<bool> is_ready_ = false;
  std::atomic<size_t> dimension_ = 0;  // of the collection, once it is ready
  std::atomic<uint64_t> moment_ = 0;
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false, purge_logged_ = false;
  mutable std::mutex mutex_;  // guards the next two
  memories::MemoryLimits limits_;
  Journal journal_;
  // For readers of other threads, those of the queue included.
  // The server did not respond for a while and may lack some.
  std::atomic<bool> lacks_deletions_ = false;
  std::atomic<bool> is_lost_ = false;  // the collection
  std::atomic<Clock::time_point> readable_at_{Clock::time_point::min()};
  stores::WriteQueue queue_;  // after all that its threads use

  // These belong to the thread.
  bool was_away_ = false;
  std::deque<Deletion> deletions_to_restore_;
  std::deque<WrittenPointer> records_to_restore_;
  Clock::time_point purge_at_{};

  std::mutex end_mutex_;  // guards the end
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::shared_memories
