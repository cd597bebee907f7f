#pragma once
// Follows the deletions of all routers that share records on a server, over exchanges of its own.
// So it notices soon when the server goes away or comes back. Only the follower decides that: a
// large record that takes too long proves nothing about the server.
//
// When the feed begins a new life, the server may have lost data or may have been restored from an
// older state. Then the follower repeats the deletions that its router knows, and writes the lost
// records again. Other routers may know further deletions and need time to repeat them. Until then
// nothing is read and no record is written again, unless the router has just started and the server
// was there.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "router/stores/redis.h"
#include "router/stores/write_queue.h"

namespace signalbox::stores {

/// The name of a deletion, and its end in milliseconds since 1970.
using NamedDeletion = std::pair<std::string, int64_t>;

/// A record of this router that the server may have lost.
struct LostRecord {
  std::string key = {};  // for the feed
  size_t bytes = 0;
  std::function<void()> write = {};  // adds it to the queue, unless it was deleted meanwhile
};

/// The deletions of all routers on a server, in their order.
class Feed {
 public:
  /// The most entries that follow() returns.
  static constexpr size_t kEntriesMax = Redis::kEntriesMax;

  virtual ~Feed() = default;
  /// Returns the entries after `cursor` ("": all), oldest first, and moves the cursor. Each entry
  /// lists its fields and values in turn. Waits at most `wait` for an entry; that time does not
  /// count towards `limit`.
  virtual Result<std::vector<std::vector<std::string>>> follow(std::string& cursor,
                                                               std::chrono::milliseconds wait,
                                                               std::chrono::milliseconds limit) = 0;
  /// Grows when follow() reaches a server that may have lost data since. 0: it has reached none
  /// yet. Thread-safe.
  virtual uint64_t lives() const = 0;
  /// Returns for each key of a record whether the server has it.
  virtual Result<std::vector<bool>> are_there(std::span<const std::string> keys,
                                              std::chrono::milliseconds limit) = 0;
};

/// A stream in Redis. Each new connection is a life.
std::unique_ptr<Feed> make_redis_feed(RedisServer server, std::string stream);

/// The store whose deletions are followed. The follower calls all functions on its thread.
class Followed {
 public:
  /// Learns a deletion from the fields and values of an entry. Returns its name; "" if the entry is
  /// not a deletion.
  virtual std::string learn(const std::vector<std::string>& entry) = 0;
  /// Called when the whole stream has been read. Returns the deletions that still matter.
  virtual Result<std::vector<NamedDeletion>> deletions() = 0;
  /// Called after the entries of each later exchange.
  virtual Result<void> learnt() { return {}; }
  virtual Result<void> delete_again(std::span<const NamedDeletion> deletions) = 0;
  /// Returns the records that the server may have lost, the oldest first. None is larger than half
  /// of the queue.
  virtual std::vector<LostRecord> records() = 0;

 protected:
  ~Followed() = default;
};

class Follower {
 public:
  struct Options {
    std::chrono::milliseconds read_limit{500};  // for each exchange
    std::chrono::milliseconds grace{1000};
  };

  /// Follows until it is destroyed. The queue and the store must outlive it.
  Follower(std::unique_ptr<Feed> feed, const Options& options, WriteQueue& queue, Followed& store);
  ~Follower();

  /// False while the server is away, and while deletions may still have to be repeated after it has
  /// come back. Thread-safe.
  bool is_readable() const;
  /// True while the server, after a lost connection, may lack deletions that this router knows.
  /// Thread-safe.
  bool repeats_deletions() const { return repeats_deletions_; }

 private:
  using Clock = WriteQueue::Clock;

  void follow();
  Result<void> follow_once();
  void begin_again();
  Result<void> catch_up();
  Result<void> restore();
  Result<void> restore_records();
  bool sleeps_and_ends(std::chrono::milliseconds time);

  const Options options_;
  WriteQueue& queue_;
  Followed& store_;
  const std::unique_ptr<Feed> feed_;
  std::atomic<uint64_t> lives_ = 0;  // the last lives() of the feed
  std::atomic<Clock::time_point> readable_at_{Clock::time_point::min()};
  std::atomic<bool> repeats_deletions_ = false;

  // These belong to the thread.
  std::string cursor_;
  bool catches_up_ = true;           // the stream has not been read to its end yet
  std::set<std::string> in_stream_;  // names of the deletions read so far
  std::deque<NamedDeletion> deletions_to_restore_;
  std::deque<LostRecord> records_to_restore_;
  Clock::time_point restores_at_{};  // records; deletions are restored at once
  bool lacks_room_ = false;          // for the next record

  std::mutex mutex_;  // guards the end
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::stores
