#pragma once
// The store behind redis_memories.h: the functions for requests (redis_memories.cc), and those that
// follow the deletions of all routers (follow.cc).

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/recently_used.h"
#include "router/memories/local_memories.h"
#include "router/shared_memories/copies.h"
#include "router/shared_memories/journal.h"
#include "router/shared_memories/record.h"
#include "router/shared_memories/redis_memories.h"
#include "router/stores/follower.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_memories {

using memories::Found;
using memories::Memory;
using memories::MemoryLimits;
using memories::TimePoint;
using std::chrono::milliseconds;
using stores::NamedDeletion;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;
using Command = stores::Redis::Command;

inline constexpr size_t kIndexEntryBytes = 256;  // with the nodes of the map
inline constexpr size_t kKnownMax = 100'000, kKnownBytesMax = size_t{64} << 20;

/// The knowledge of a router about the memories of a user.
struct Known {
  std::string version = {};
  uint64_t limits = 0;  // the number of the limits that `index` was made with
  Index index = {};     // of memories that have neither expired nor been deleted
  // `index` is correct between these times: the last expiry before it was made, and the next one.
  TimePoint since = TimePoint::min(), until = TimePoint::max();
  // The number of copies when they last agreed with the index. Another number means that they do
  // not agree any more.
  mutable std::atomic<size_t> copied = SIZE_MAX;

  size_t bytes() const { return sizeof(Known) + index.size() * kIndexEntryBytes; }
};
using KnownPointer = std::shared_ptr<const Known>;

/// Thread-safe.
class RedisMemories final : public SharedMemories, private stores::Followed {
 public:
  explicit RedisMemories(Options options)
      : options_(std::move(options)),
        redis_(options_.server),
        journal_(options_.journal_bytes),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        follower_(stores::make_redis_feed(options_.server, options_.prefix + "deleted"),
                  {.read_limit = options_.read_limit, .grace = options_.grace}, queue_, *this) {
    set_limits({});
  }

  void set_limits(const MemoryLimits& limits) override;
  Result<std::vector<Found>> search(std::string_view user, const memories::Vector& vector,
                                    size_t most, double similarity_min,
                                    const memories::WordQuery* words, TimePoint now) override;
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
  bool is_deleted(std::string_view owner, std::string_view id, uint64_t moment) const {
    const std::lock_guard lock(mutex_);
    return journal_.is_deleted(owner, id, moment);
  }
  /// Runs a script for an owner.
  Result<RedisValue> run(std::string_view script, std::string_view owner,
                         std::span<const std::string> words);
  /// Logs an error of the server once, and returns `shown`, which reveals nothing about the server.
  tl::unexpected<Error> log_and_hide(const Error& error, tl::unexpected<Error> shown);

  Result<KnownPointer> read_index(const std::string& owner, TimePoint now);
  Result<KnownPointer> read_whole_index(const std::string& owner, const std::string& key,
                                        TimePoint now);
  void add_to_index(const std::string& owner, const std::string& id, std::string_view bytes,
                    TimePoint now, Known& to) const;
  Result<Records> read_records(const std::string& owner, std::span<const std::string> ids);
  ReadRecords reader(const std::string& owner);
  void queue(WrittenPointer memory);
  Result<void> write(const WrittenPointer& memory);

  void learn(const Deletion& deletion);
  Result<bool> delete_one(const Deletion& deletion, bool again);
  /// Deletes what began before the deletion's moment; 0: a new one.
  Result<size_t> delete_all(Deletion deletion);

  // For the follower.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const NamedDeletion> deletions) override;
  std::vector<stores::LostRecord> records() override;

  const Options options_;
  stores::Redis redis_;
  memories::LocalMemories copies_;                               // by owner
  RecentlyUsed<KnownPointer> known_{kKnownMax, kKnownBytesMax};  // by owner
  std::atomic<uint64_t> moment_ = 0;
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false;
  mutable std::mutex mutex_;  // guards the next three
  MemoryLimits limits_;
  uint64_t limits_number_ = 0;  // grows with each change
  Journal journal_;
  WriteQueue queue_;
  stores::Follower follower_;
};

}  // namespace signalbox::shared_memories
