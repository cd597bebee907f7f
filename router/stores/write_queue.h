#pragma once
// Records that are on their way to a server that routers share, and what is known about that
// server: it works, it refuses what is new (because it is full), or it is away. Threads write as
// long as it works, first the records whose replies wait.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"

namespace signalbox::stores {

/// Thread-safe.
class WriteQueue {
 public:
  using Clock = std::chrono::steady_clock;
  struct Item {
    std::string id = {};
    size_t bytes = 0;
    /// May be called several times. Errors: kUpstream if the server refuses the record, others if
    /// it did not answer in time.
    std::function<Result<void>()> write = {};
    std::function<void()> done = {};  // null: no reply waits
    Clock::time_point waits_until{};  // the reply waits no longer than this
    Clock::time_point useful_until = Clock::time_point::max();  // after this the record is dropped
    int attempts = 0;
    bool fills_connection =
        false;  // likely, because it is large and the last attempt took too long
  };
  /// For the log.
  struct Words {
    std::string_view area;       // of the lines
    std::string_view section;    // the place in the file
    std::string_view records;    // for example "responses"
    std::string_view meanwhile;  // what happens to new ones while the server takes none
    std::string_view unwritten;  // what happens to those that are given up
  };
  struct Stats {
    bool works = true;                               // it responds and accepts new records
    uint64_t written = 0, refused = 0, dropped = 0;  // records
    uint64_t waiting = 0;                            // records that are not written yet
    uint64_t late = 0;  // replies that no longer waited for their record
  };

  /// `server` is its name for the log. At most `bytes_max` wait.
  WriteQueue(std::string server, size_t bytes_max, const Words& words);
  /// Stops the threads; records that are still waiting are lost.
  ~WriteQueue();

  /// Writes it, or calls `done` at once if the server is known not to take it now.
  void add(Item item);
  /// Counts a record that is not to be written, logs why, and calls `done`.
  void refuse(Item item, std::string_view why);
  /// Removes records that are not written yet.
  void forget(const std::string& id);

  /// These set the state and log each change once. set_working() also retries the failed records.
  void set_working();
  void set_refusing(const Error& why);
  void set_accepting();
  void set_away(const Error& why);
  bool is_away() const;
  /// Returns true if the queue would be at most half full with these bytes. The other half is kept
  /// for records whose replies wait.
  bool has_room(size_t bytes) const;

  /// Sets the number of records that may still be added, because the server may have lost them.
  /// drain() and stats() count them.
  void expect(size_t count);
  /// Waits until everything is written, but not longer than `until`. Returns the number of
  /// unwritten records.
  size_t drain(Clock::time_point until);
  Stats stats() const;

 private:
  enum class State : uint8_t { kWorking, kRefusing, kAway };
  using Items = std::deque<Item>;

  void write_in_turns(bool only_awaited);
  bool has_work(bool only_awaited);
  Item take();
  std::function<void()> release(Item& item);
  std::function<void()> settle(Item item, const Result<void>& written);
  size_t count_unwritten() const;
  void refuse_for_now(const Error& why);
  void retry_failed();
  void stop_waiting();
  void drop_excess(std::vector<std::function<void()>>& done);

  const std::string server_;
  const size_t bytes_max_;
  const Words words_;
  mutable std::mutex mutex_;  // guards the rest
  State state_ = State::kWorking;
  // Oldest first: those whose replies wait, the others, and those to be tried again later.
  Items awaited_, backlog_, failed_;
  size_t bytes_ = 0;    // of all
  size_t writing_ = 0;  // records that the threads have
  size_t expected_ = 0;
  Clock::time_point retry_at_{};
  Stats stats_;
  bool away_logged_ = false, refusal_logged_ = false, overflow_logged_ = false;
  bool stopping_ = false;
  std::condition_variable wake_, idle_;
  std::vector<std::thread> threads_;
};

}  // namespace signalbox::stores
