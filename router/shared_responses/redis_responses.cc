// One thread follows the stream of deletions over a connection of its own. So it knows at once
// when Redis goes away or comes back, and only it decides that; a large response that takes too
// long says nothing about Redis.

#include "router/shared_responses/redis_responses.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/shared_responses/record.h"
#include "router/stores/deletions.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_responses {
namespace {

using dialects::ResponsePointer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using stores::Deletions;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;
using Command = stores::Redis::Command;
using Values = std::vector<stores::RedisValue>;

/// The place in the file, for the log.
constexpr std::string_view kSection = "global.services.response_api";
constexpr WriteQueue::Words kWords{.area = "responses",
                                   .section = kSection,
                                   .records = "responses",
                                   .meanwhile = "stay in this router",
                                   .unwritten = "stay in this router"};
constexpr milliseconds kFollow{200}, kRetry{100}, kNoWait{1};
constexpr size_t kIdBytesMax = 64;
constexpr size_t kRestoredAtOnce = 64;
const std::string kDeletionsMax = std::to_string(Deletions::kMax);
/// The stream ends itself if no router deletes anything.
constexpr std::string_view kStreamSeconds = "5184000";
/// A look-up reads so many bytes at once, and the rest of a longer record when it knows the length.
constexpr size_t kFirstBytes = size_t{64} << 10;

/// The time that a record of that size may take beside the limit of an exchange.
milliseconds time_for(size_t bytes) {
  constexpr size_t kBytesPerSecond = size_t{8} << 20;
  return milliseconds(1000 * bytes / kBytesPerSecond);
}

int64_t now_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class RedisResponses final : public Sharing {
 public:
  RedisResponses(Options options, dialects::ResponseStore& here)
      : options_(std::move(options)),
        here_(here),
        redis_(options_.server),
        followed_(options_.server),
        stream_(options_.prefix + "deleted"),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        thread_([this] { follow(); }) {}

  ~RedisResponses() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  Result<Found> get(std::string_view id, bool is_here, size_t bytes_max) override;
  void put(std::string_view id, ResponsePointer response, int64_t ttl_s,
           std::function<void()> done) override;
  Result<void> remove(std::string_view id, int64_t ttl_s) override;
  milliseconds patience(const dialects::StoredResponse& response) const override {
    return options_.server.connect_limit + options_.write_limit + time_for(response.bytes());
  }
  Stats stats() const override {
    const WriteQueue::Stats all = queue_.stats();
    return {.works = all.works,
            .written = all.written,
            .refused = all.refused,
            .dropped = all.dropped,
            .waiting = all.waiting,
            .late = all.late};
  }
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
  using Deletion = std::pair<std::string, int64_t>;  // the id, and the end in milliseconds

  std::string key_of(std::string_view kind, std::string_view id) const {
    return options_.prefix + std::string(kind) + std::string(id);
  }
  bool is_deleted(std::string_view id) const {
    const std::lock_guard lock(mutex_);
    return deletions_.contains(id);
  }
  /// Returns the bytes of a record, "" if there is none or `is_here`, or nullopt if it was removed.
  Result<std::optional<std::string>> read(std::string_view id, bool is_here, size_t bytes_max);
  Result<void> write(const std::string& id, const dialects::StoredResponse& response,
                     Clock::time_point until);
  Result<void> delete_all(const std::vector<Deletion>& deletions);

  void follow();
  Result<void> follow_once();
  void learn(const std::string& id, int64_t until_ms);
  void find_lost_deletions();
  Result<void> restore();
  Result<void> restore_responses();

  const Options options_;
  dialects::ResponseStore& here_;
  stores::Redis redis_, followed_;
  const std::string stream_;
  mutable std::mutex mutex_;
  Deletions deletions_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::atomic<bool> unreadable_ = false;  // and it was logged

  // These belong to the thread that follows.
  std::string cursor_ = "0-0";
  uint64_t connections_ = 0;
  bool catches_up_ = true;           // the stream has not been read to its end yet
  std::set<std::string> in_stream_;  // meanwhile
  std::deque<Deletion> deletions_to_restore_;
  std::deque<std::pair<std::string, ResponsePointer>> responses_to_restore_;
  bool lacks_room_ = false;  // for the next of them

  WriteQueue queue_;
  std::thread thread_;
};

// --- for requests ---

Result<RedisResponses::Found> RedisResponses::get(std::string_view id, bool is_here,
                                                  size_t bytes_max) {
  if (is_deleted(id)) return Found{true};
  const auto unreadable = [] {
    return fail(Code::kUpstream,
                "the store that routers share does not respond, and this router has no copy");
  };
  if (queue_.is_away()) return unreadable();
  const auto record = read(id, is_here, bytes_max);
  if (!record && record.error().code == Code::kTooLarge) return tl::unexpected(record.error());
  if (!record) {
    // If it does not answer, the thread that follows logs that.
    if (record.error().code == Code::kUpstream && !unreadable_.exchange(true))
      log::warn("responses", "{}: {}", kSection, record.error().message);
    return unreadable();
  }
  unreadable_ = false;
  if (!*record) return Found{true};
  if ((*record)->empty()) return Found{};
  auto response = read_record(**record);
  if (!response) {
    log::warn("responses", "{}: {}", redis_.name(), response.error().message);
    return Found{};
  }
  return Found{false, std::make_shared<const dialects::StoredResponse>(*std::move(response))};
}

Result<std::optional<std::string>> RedisResponses::read(std::string_view id, bool is_here,
                                                        size_t bytes_max) {
  const std::string at = key_of("r:", id), removed_at = key_of("d:", id);
  const std::string first = std::to_string(kFirstBytes), last = std::to_string(kFirstBytes - 1);
  std::vector<Command> commands{{"EXISTS", removed_at}};
  if (!is_here) {
    commands.push_back({"STRLEN", at});
    commands.push_back({"GETRANGE", at, "0", last});
  }
  SIGNALBOX_TRY(Values values, redis_.run_all(commands, options_.read_limit));
  if (values[0].number != 0) return std::nullopt;
  if (is_here) return std::string();
  const auto size = static_cast<size_t>(values[1].number);
  std::string record = std::move(values[2].text);
  if (size > bytes_max)
    return fail(Code::kTooLarge, "the stored responses of the request are too large together");
  if (size <= record.size() || size > kRecordBytesMax) return record;
  const std::string end = std::to_string(size - 1);
  const milliseconds limit = options_.read_limit + time_for(size);
  SIGNALBOX_TRY(const auto rest, redis_.run({"GETRANGE", at, first, end}, limit));
  if (rest.text.empty()) return rest.text;  // it has expired or was removed
  return record + rest.text;
}

void RedisResponses::put(std::string_view id, ResponsePointer response, int64_t ttl_s,
                         std::function<void()> done) {
  const auto now = Clock::now();
  WriteQueue::Item item{.id = std::string(id),
                        .bytes = response->bytes(),
                        .done = std::move(done),
                        .waits_until = now + patience(*response)};
  if (item.bytes > kRecordBytesMax) {
    const std::string why = fmt::format(
        "a response and its conversation have {} bytes, and at most {} are shared; it stays in "
        "this router",
        item.bytes, kRecordBytesMax);
    return queue_.refuse(std::move(item), why);
  }
  item.write = [this, id = item.id, response = std::move(response), until = now + seconds(ttl_s)] {
    return write(id, *response, until);
  };
  queue_.add(std::move(item));
}

Result<void> RedisResponses::write(const std::string& id, const dialects::StoredResponse& response,
                                   Clock::time_point until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
  if (left <= 0 || is_deleted(id)) return {};
  const std::string at = key_of("r:", id), ttl = std::to_string(left);
  const std::string record = write_record(response);
  const milliseconds limit = options_.write_limit + time_for(record.size());
  SIGNALBOX_TRY_VOID(redis_.run({"SET", at, record, "PX", ttl}, limit));
  return {};
}

// Another router may keep the response as long as its record in Redis.
Result<void> RedisResponses::remove(std::string_view id, int64_t ttl_s) {
  constexpr std::string_view kNotDeleted =
      "the response is not deleted, because the store that routers share takes no changes now";
  if (queue_.is_away()) return fail(Code::kUpstream, "{}", kNotDeleted);
  const std::string at = key_of("r:", id);
  Result<void> removed;
  if (const auto left = redis_.run({"PTTL", at}, options_.read_limit); !left) {
    removed = tl::unexpected(left.error());
  } else {
    const int64_t ttl_ms = std::max({left->number, ttl_s * 1000, int64_t{1}});
    removed = delete_all({{std::string(id), now_ms() + ttl_ms}});
  }
  if (removed) return {};
  if (removed.error().code == Code::kUpstream) queue_.set_refusing(removed.error());
  return fail(Code::kUpstream, "{}", kNotDeleted);
}

Result<void> RedisResponses::delete_all(const std::vector<Deletion>& deletions) {
  std::deque<std::string> words;
  const auto word = [&words](std::string text) -> std::string_view {
    return words.emplace_back(std::move(text));
  };
  const int64_t now = now_ms();
  std::vector<Command> commands{{"MULTI"}};
  for (const auto& [id, until_ms] : deletions) {
    const std::string_view until = word(std::to_string(until_ms));
    const std::string_view ttl = word(std::to_string(std::max<int64_t>(1, until_ms - now)));
    commands.push_back({"DEL", word(key_of("r:", id))});
    commands.push_back({"SET", word(key_of("d:", id)), "1", "PX", ttl});
    commands.push_back(
        {"XADD", stream_, "MAXLEN", "~", kDeletionsMax, "*", "id", id, "until", until});
  }
  commands.push_back({"EXPIRE", stream_, kStreamSeconds});
  commands.push_back({"EXEC"});
  SIGNALBOX_TRY_VOID(redis_.run_all(commands, options_.write_limit));
  queue_.set_taking();
  for (const auto& [id, until_ms] : deletions) learn(id, until_ms);
  return {};
}

// --- the thread that follows ---

void RedisResponses::follow() {
  for (;;) {
    const Result<void> followed = follow_once();
    if (!followed) queue_.set_away(followed.error());
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, followed ? milliseconds(0) : kRetry, [this] { return stopping_; }))
      return;
  }
}

Result<void> RedisResponses::follow_once() {
  const bool is_done = deletions_to_restore_.empty() && responses_to_restore_.empty();
  const bool waits = !catches_up_ && (is_done || std::exchange(lacks_room_, false));
  SIGNALBOX_TRY(const auto entries,
                followed_.follow(stream_, cursor_, waits ? kFollow : kNoWait, options_.read_limit));
  // The server behind a new connection may have lost its data, or been restored from an older
  // state.
  if (followed_.connections() != connections_) {
    connections_ = followed_.connections();
    catches_up_ = true;
    in_stream_.clear();
    responses_to_restore_.clear();
    for (auto& each : here_.all(std::time(nullptr)))
      responses_to_restore_.push_back(std::move(each));
    queue_.expect(responses_to_restore_.size());
    cursor_ = "0-0";
    return {};
  }
  for (const std::vector<std::string>& entry : entries) {
    if (entry.size() != 4 || entry[1].size() > kIdBytesMax) continue;
    int64_t until_ms = 0;
    std::from_chars(entry[3].data(), entry[3].data() + entry[3].size(), until_ms);
    if (catches_up_) in_stream_.insert(entry[1]);
    if (until_ms > now_ms()) learn(entry[1], until_ms);
  }
  if (catches_up_ && entries.size() == stores::Redis::kEntriesMax) return {};
  if (std::exchange(catches_up_, false)) find_lost_deletions();
  queue_.set_working();
  const Result<void> restored = restore();
  if (!restored && restored.error().code != Code::kUpstream)
    return tl::unexpected(restored.error());
  if (restored) return {};
  queue_.set_refusing(restored.error());
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kFollow, [this] { return stopping_; });
  return {};
}

void RedisResponses::learn(const std::string& id, int64_t until_ms) {
  {
    const std::lock_guard lock(mutex_);
    // Each new connection reads all of them again.
    if (!deletions_.add(id, until_ms, now_ms())) return;
  }
  here_.forget(id);
  queue_.forget(id);
}

void RedisResponses::find_lost_deletions() {
  deletions_to_restore_.clear();
  const std::lock_guard lock(mutex_);
  for (Deletion& each : deletions_.all(now_ms())) {
    if (!in_stream_.contains(each.first)) deletions_to_restore_.push_back(std::move(each));
  }
  in_stream_.clear();
}

// A part at a time, because deletions are followed in between.
Result<void> RedisResponses::restore() {
  if (deletions_to_restore_.empty()) return restore_responses();
  const auto end = deletions_to_restore_.begin() +
                   std::min<ptrdiff_t>(kRestoredAtOnce, std::ssize(deletions_to_restore_));
  SIGNALBOX_TRY_VOID(delete_all({deletions_to_restore_.begin(), end}));
  deletions_to_restore_.erase(deletions_to_restore_.begin(), end);
  return {};
}

Result<void> RedisResponses::restore_responses() {
  const size_t count = std::min(kRestoredAtOnce, responses_to_restore_.size());
  if (count == 0) return {};
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(key_of("r:", responses_to_restore_[i].first));
  std::vector<Command> commands;
  for (const std::string& key : keys) commands.push_back({"EXISTS", key});
  SIGNALBOX_TRY(const Values are_there, redis_.run_all(commands, options_.read_limit));
  const int64_t now = std::time(nullptr);
  for (size_t i = 0; i < count; ++i) {
    auto& [id, response] = responses_to_restore_.front();
    const int64_t ttl_s = here_.left(*response, now);
    if (are_there[i].number == 0 && ttl_s > 0 && response->bytes() <= kRecordBytesMax) {
      lacks_room_ = !queue_.has_room(response->bytes());
      if (lacks_room_) break;
      put(id, std::move(response), ttl_s, {});
    }
    responses_to_restore_.pop_front();
  }
  queue_.expect(responses_to_restore_.size());
  return {};
}

}  // namespace

std::unique_ptr<Sharing> make_redis_responses(Options options, dialects::ResponseStore& here) {
  return std::make_unique<RedisResponses>(std::move(options), here);
}

Result<std::unique_ptr<Sharing>> open(const config::ResponseApi& config,
                                      dialects::ResponseStore& here) {
  if (!config.enabled || !config.is_shared()) return nullptr;
  auto server = stores::redis_server(config.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  if (!config.redis.key_prefix.empty()) options.prefix = config.redis.key_prefix;
  stores::set_seconds(config.redis.read_timeout, options.read_limit);
  stores::set_seconds(config.redis.write_timeout, options.write_limit);
  return make_redis_responses(std::move(options), here);
}

}  // namespace signalbox::shared_responses
