// Deletions and records are restored a part at a time, because deletions are followed in between.

#include "router/stores/follower.h"

#include <algorithm>
#include <iterator>

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFollow{200}, kRetry{100}, kNoWait{1};
constexpr size_t kRestoredAtOnce = 64;

class RedisFeed final : public Feed {
 public:
  RedisFeed(RedisServer server, std::string stream)
      : redis_(std::move(server)), stream_(std::move(stream)) {}

  Result<std::vector<std::vector<std::string>>> follow(std::string& cursor, milliseconds wait,
                                                       milliseconds limit) override {
    if (cursor.empty()) cursor = "0-0";
    return redis_.follow(stream_, cursor, wait, limit);
  }
  uint64_t lives() const override { return redis_.connections(); }
  Result<std::vector<bool>> are_there(std::span<const std::string> keys,
                                      milliseconds limit) override {
    std::vector<Redis::Command> commands;
    for (const std::string& key : keys) commands.push_back({"EXISTS", key});
    SIGNALBOX_TRY(const auto found, redis_.run_all(commands, limit));
    std::vector<bool> out;
    for (const RedisValue& each : found) out.push_back(each.number != 0);
    return out;
  }

 private:
  Redis redis_;
  const std::string stream_;
};

}  // namespace

std::unique_ptr<Feed> make_redis_feed(RedisServer server, std::string stream) {
  return std::make_unique<RedisFeed>(std::move(server), std::move(stream));
}

Follower::Follower(std::unique_ptr<Feed> feed, const Options& options, WriteQueue& queue,
                   Followed& store)
    : options_(options), queue_(queue), store_(store), feed_(std::move(feed)), thread_([this] {
        follow();
      }) {}

Follower::~Follower() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Follower::is_readable() const {
  const uint64_t known = lives_;
  return !queue_.is_away() && (known == 0 || feed_->lives() == known) &&
         Clock::now() >= readable_at_.load();
}

bool Follower::sleeps_and_ends(milliseconds time) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, time, [this] { return stopping_; });
}

void Follower::follow() {
  for (;;) {
    const Result<void> followed = follow_once();
    if (!followed) queue_.set_away(followed.error());
    if (sleeps_and_ends(followed ? milliseconds(0) : kRetry)) return;
  }
}

Result<void> Follower::follow_once() {
  const bool has_records = !records_to_restore_.empty() && Clock::now() >= restores_at_;
  const bool waits = !catches_up_ && deletions_to_restore_.empty() &&
                     (!has_records || std::exchange(lacks_room_, false));
  SIGNALBOX_TRY(const auto entries,
                feed_->follow(cursor_, waits ? kFollow : kNoWait, options_.read_limit));
  if (feed_->lives() != lives_) {
    begin_again();
    return {};
  }
  for (const std::vector<std::string>& entry : entries) {
    std::string name = store_.learn(entry);
    if (catches_up_ && !name.empty()) in_stream_.insert(std::move(name));
  }
  if (catches_up_ && entries.size() == Feed::kEntriesMax) return {};
  SIGNALBOX_TRY_VOID(catches_up_ ? catch_up() : store_.learnt());
  queue_.set_working();
  const Result<void> restored = restore();
  if (restored) return {};
  if (restored.error().code != Code::kUpstream) return tl::unexpected(restored.error());
  queue_.set_refusing(restored.error());
  static_cast<void>(sleeps_and_ends(kFollow));
  return {};
}

void Follower::begin_again() {
  restores_at_ = Clock::now() + options_.grace;
  if (lives_ != 0 || queue_.is_away()) {
    readable_at_ = restores_at_;
    repeats_deletions_ = true;
  }
  lives_ = feed_->lives();
  catches_up_ = true;
  in_stream_.clear();
  cursor_.clear();
  std::vector<LostRecord> records = store_.records();
  records_to_restore_.assign(std::move_iterator(records.begin()),
                             std::move_iterator(records.end()));
  queue_.expect(records_to_restore_.size());
}

// Finds the deletions that are not in the stream.
Result<void> Follower::catch_up() {
  SIGNALBOX_TRY(auto known, store_.deletions());
  deletions_to_restore_.clear();
  for (NamedDeletion& each : known) {
    if (!in_stream_.contains(each.first)) deletions_to_restore_.push_back(std::move(each));
  }
  in_stream_.clear();
  catches_up_ = false;
  if (deletions_to_restore_.empty()) repeats_deletions_ = false;
  return {};
}

Result<void> Follower::restore() {
  if (deletions_to_restore_.empty())
    return Clock::now() >= restores_at_ ? restore_records() : Result<void>();
  const auto end = deletions_to_restore_.begin() +
                   std::min(std::ssize(deletions_to_restore_), std::ptrdiff_t{kRestoredAtOnce});
  const std::vector<NamedDeletion> part(deletions_to_restore_.begin(), end);
  SIGNALBOX_TRY_VOID(store_.delete_again(part));
  deletions_to_restore_.erase(deletions_to_restore_.begin(), end);
  if (deletions_to_restore_.empty()) repeats_deletions_ = false;
  return {};
}

Result<void> Follower::restore_records() {
  const size_t count = std::min(kRestoredAtOnce, records_to_restore_.size());
  if (count == 0) return {};
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(records_to_restore_[i].key);
  SIGNALBOX_TRY(const auto are_there, feed_->are_there(keys, options_.read_limit));
  for (const bool is_there : are_there) {
    const LostRecord& next = records_to_restore_.front();
    if (!is_there) {
      lacks_room_ = !queue_.has_room(next.bytes);
      if (lacks_room_) break;
      next.write();
    }
    records_to_restore_.pop_front();
  }
  queue_.expect(records_to_restore_.size());
  return {};
}

}  // namespace signalbox::stores
