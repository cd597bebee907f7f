// One thread follows the stream of deletions over a connection of its own. So it knows at once when
// Redis goes away or comes back, and only it decides that.

#include <algorithm>
#include <charconv>
#include <utility>

#include "router/shared_memories/store.h"

namespace signalbox::shared_memories {
namespace {

constexpr milliseconds kFollow{200}, kRetry{100}, kNoWait{1};

}  // namespace

void RedisMemories::follow() {
  for (;;) {
    const Result<void> followed = follow_once();
    if (!followed) queue_.set_away(followed.error());
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, followed ? milliseconds(0) : kRetry, [this] { return stopping_; }))
      return;
  }
}

Result<void> RedisMemories::follow_once() {
  const bool is_done = deletions_to_restore_.empty() && memories_to_restore_.empty();
  const bool waits =
      !catches_up_ && (is_done || std::exchange(lacks_room_, false) ||
                       (deletions_to_restore_.empty() && Clock::now() < restores_at_));
  SIGNALBOX_TRY(const auto entries,
                followed_.follow(stream_, cursor_, waits ? kFollow : kNoWait, options_.read_limit));
  if (followed_.connections() != connections_) {
    begin_again();
    return {};
  }
  for (const std::vector<std::string>& entry : entries) {
    if (entry.size() != 6) continue;
    const bool is_all = entry[3].empty();
    const Deletion deletion = read_deletion(entry[1] + " " + (is_all ? entry[5] : entry[3]));
    if (deletion.owner.empty()) continue;
    if (catches_up_) in_stream_.insert(deletion.name());
    learn(deletion);
  }
  if (catches_up_ && entries.size() == stores::Redis::kEntriesMax) return {};
  if (catches_up_) SIGNALBOX_TRY_VOID(catch_up());
  queue_.set_working();
  const Result<void> restored = restore();
  if (restored) return {};
  if (restored.error().code != Code::kUpstream) return tl::unexpected(restored.error());
  queue_.set_refusing(restored.error());
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kFollow, [this] { return stopping_; });
  return {};
}

// The server behind a new connection may have lost its data, or been restored from an older state.
// Then it may have memories whose deletion only other routers know. So nothing is read until they
// had time to repeat that, unless the router has just started and Redis was there.
void RedisMemories::begin_again() {
  restores_at_ = Clock::now() + options_.grace;
  if (connections_ != 0 || queue_.is_away()) readable_at_ = restores_at_;
  connections_ = followed_.connections();
  catches_up_ = true;
  in_stream_.clear();
  cursor_ = "0-0";
  const std::lock_guard lock(mutex_);
  const auto written = journal_.memories();
  memories_to_restore_.assign(written.begin(), written.end());
  queue_.expect(memories_to_restore_.size());
}

// Reads the clock, because the stream may be shorter, and finds the deletions that are not in the
// stream.
Result<void> RedisMemories::catch_up() {
  const std::string key = key_of("clock", "");
  SIGNALBOX_TRY(const RedisValue clock, followed_.run({"GET", key}, options_.read_limit));
  uint64_t moment = 0;
  std::from_chars(clock.text.data(), clock.text.data() + clock.text.size(), moment);
  if (moment > moment_ && moment <= kMomentMax) moment_ = moment;
  deletions_to_restore_.clear();
  const std::lock_guard lock(mutex_);
  for (Deletion& each : journal_.deletions(to_ms(TimePoint::clock::now()))) {
    if (!in_stream_.contains(each.name())) deletions_to_restore_.push_back(std::move(each));
  }
  in_stream_.clear();
  catches_up_ = false;
  return {};
}

void RedisMemories::learn(const Deletion& deletion) {
  uint64_t known = moment_;
  while (known < deletion.moment && !moment_.compare_exchange_weak(known, deletion.moment)) {
  }
  {
    const std::lock_guard lock(mutex_);
    if (!journal_.learn(deletion, to_ms(TimePoint::clock::now()))) return;
    known_.keep(deletion.owner, nullptr);  // Redis may return with the version of this
  }
  // Copies of newer memories are read again.
  if (deletion.id.empty()) {
    static_cast<void>(copies_.forget_all(deletion.owner));
  } else {
    static_cast<void>(copies_.forget(deletion.owner, deletion.id));
    queue_.forget(deletion.id);
  }
}

// A part at a time, because deletions are followed in between.
Result<void> RedisMemories::restore() {
  for (size_t i = 0; i < kAtOnce && !deletions_to_restore_.empty(); ++i) {
    const Deletion& next = deletions_to_restore_.front();
    if (next.id.empty()) {
      SIGNALBOX_TRY_VOID(delete_all(next));
    } else {
      SIGNALBOX_TRY_VOID(delete_one(next, true));
    }
    deletions_to_restore_.pop_front();
  }
  return deletions_to_restore_.empty() && Clock::now() >= restores_at_ ? restore_memories()
                                                                       : Result<void>();
}

Result<void> RedisMemories::restore_memories() {
  const size_t count = std::min(kAtOnce, memories_to_restore_.size());
  if (count == 0) return {};
  std::deque<std::string> words;
  std::vector<Command> commands;
  for (size_t i = 0; i < count; ++i)
    commands.push_back({"EXISTS", words.emplace_back(key_of("m:", memories_to_restore_[i]->id))});
  SIGNALBOX_TRY(const auto are_there, redis_.run_all(commands, options_.read_limit));
  for (const RedisValue& is_there : are_there) {
    const WrittenPointer& next = memories_to_restore_.front();
    bool is_deleted = false;
    {
      const std::lock_guard lock(mutex_);
      is_deleted = journal_.is_deleted(next->owner, next->id, next->entry.moment);
    }
    if (is_there.number == 0 && !is_deleted) {
      lacks_room_ = !queue_.has_room(next->bytes());
      if (lacks_room_) break;
      queue(next);
    }
    memories_to_restore_.pop_front();
  }
  queue_.expect(memories_to_restore_.size());
  return {};
}

}  // namespace signalbox::shared_memories
