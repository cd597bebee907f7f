#pragma once
// The store behind redis_memories.h: the functions for requests (redis_memories.cc), and the thread
// that follows the deletions of all routers (follow.cc).

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/recently_used.h"
#include "router/memories/local_memories.h"
#include "router/shared_memories/journal.h"
#include "router/shared_memories/record.h"
#include "router/shared_memories/redis_memories.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_memories {

using memories::Found;
using memories::Memory;
using memories::MemoryLimits;
using memories::TimePoint;
using std::chrono::milliseconds;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;
using Command = stores::Redis::Command;
using Index = std::map<std::string, IndexEntry, std::less<>>;  // by id

/// The place in the file, for the log.
inline constexpr std::string_view kSection = "global.stores.memory";
inline constexpr WriteQueue::Words kWords{.area = "memory",
                                          .section = kSection,
                                          .records = "memories",
                                          .meanwhile = "wait in this router",
                                          .unwritten = "are lost"};
inline constexpr size_t kAtOnce = 64;            // records in one exchange
inline constexpr size_t kIndexEntryBytes = 256;  // with the nodes of the map
inline constexpr size_t kKnownMax = 100'000, kKnownBytesMax = size_t{64} << 20;

/// The knowledge of a router about the memories of a user.
struct Known {
  std::string version = {};
  uint64_t limits = 0;  // by whose number `index` was made
  Index index = {};     // of memories that are neither over nor deleted
  // When the last of those that are left out was over, and when the next one will be.
  TimePoint since = TimePoint::min(), until = TimePoint::max();
  // The number of copies when they agreed with the index. If there are others now, they do not.
  mutable std::atomic<size_t> copied = SIZE_MAX;

  size_t bytes() const { return sizeof(Known) + index.size() * kIndexEntryBytes; }
};
using KnownPointer = std::shared_ptr<const Known>;

/// Thread-safe.
class RedisMemories final : public SharedMemories {
 public:
  explicit RedisMemories(Options options)
      : options_(std::move(options)),
        redis_(options_.server),
        followed_(options_.server),
        stream_(options_.prefix + "deleted"),
        journal_(options_.journal_bytes),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        thread_([this] { follow(); }) {
    set_limits({});
  }

  ~RedisMemories() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void set_limits(const MemoryLimits& limits) override;
  Result<std::vector<Found>> search(std::string_view user, const memories::Vector& vector,
                                    size_t most, double similarity_min, TimePoint now) override;
  void use(std::string_view user, std::span<const std::string> ids, TimePoint now) override;
  uint64_t moment() const override { return moment_; }
  Result<std::string> add(std::string_view user, Memory memory, const memories::Vector& vector,
                          uint64_t moment, TimePoint now) override;
  Result<Page> list(std::string_view user, size_t most, TimePoint now) override;
  Result<std::optional<Memory>> find(std::string_view user, std::string_view id,
                                     TimePoint now) override;
  Result<bool> forget(std::string_view user, std::string_view id) override;
  Result<size_t> forget_all(std::string_view user) override;
  Size size() const override { return copies_.size(); }
  std::optional<Shared> shared() const override;
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
  std::string key_of(std::string_view kind, std::string_view name) const {
    return options_.prefix + std::string(kind) + std::string(name);
  }
  MemoryLimits limits() const {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  /// Runs a script for an owner.
  Result<RedisValue> run(std::string_view script, std::string_view owner,
                         std::span<const std::string> words);
  /// Logs an error of the server once, and returns what the caller may know.
  tl::unexpected<Error> hidden(const Error& error, tl::unexpected<Error> shown);

  /// False while deletions may still have to be repeated after Redis has come back.
  bool is_readable() const {
    const uint64_t known = connections_;
    return !queue_.is_away() && (known == 0 || followed_.connections() == known) &&
           Clock::now() >= readable_at_.load();
  }
  Result<KnownPointer> read_index(const std::string& owner, TimePoint now);
  Result<KnownPointer> read_whole_index(const std::string& owner, const std::string& key,
                                        TimePoint now);
  void add_to_index(const std::string& owner, const std::string& id, std::string_view bytes,
                    TimePoint now, Known& to) const;
  Result<std::vector<std::pair<std::string, Record>>> read_records(
      const std::string& owner, std::span<const std::string> ids);
  Result<void> copy(const std::string& owner, const Known& known, TimePoint now);
  void queue(WrittenPointer memory);
  Result<void> write(const WrittenPointer& memory);

  void follow();
  Result<void> follow_once();
  void begin_again();
  Result<void> catch_up();
  void learn(const Deletion& deletion);
  Result<bool> delete_one(const Deletion& deletion, bool again);
  Result<size_t> delete_all(Deletion deletion);
  Result<void> restore();
  Result<void> restore_memories();

  const Options options_;
  stores::Redis redis_, followed_;
  const std::string stream_;
  memories::LocalMemories copies_;                               // by owner
  RecentlyUsed<KnownPointer> known_{kKnownMax, kKnownBytesMax};  // by owner
  std::atomic<uint64_t> moment_ = 0;
  std::atomic<Clock::time_point> readable_at_{};
  std::atomic<uint64_t> connections_ = 0;  // that the thread that follows knows
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false;
  mutable std::mutex mutex_;  // guards the next four
  MemoryLimits limits_;
  uint64_t limits_number_ = 0;  // grows with each change
  Journal journal_;
  bool stopping_ = false;
  std::condition_variable wake_;

  // These belong to the thread that follows.
  std::string cursor_ = "0-0";
  bool catches_up_ = true;           // the stream has not been read to its end yet
  std::set<std::string> in_stream_;  // meanwhile
  std::deque<Deletion> deletions_to_restore_;
  std::deque<WrittenPointer> memories_to_restore_;
  Clock::time_point restores_at_{};
  bool lacks_room_ = false;  // for the next of them

  WriteQueue queue_;
  std::thread thread_;
};

}  // namespace signalbox::shared_memories
