// The functions for requests, and those by which a follower keeps track of the deletions of all
// routers.

#include "router/shared_responses/redis_responses.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/shared_responses/record.h"
#include "router/stores/deletions.h"
#include "router/stores/follower.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_responses {
namespace {

using dialects::ResponsePointer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using stores::Deletions;
using stores::NamedDeletion;
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
constexpr size_t kIdBytesMax = 64;
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

class RedisResponses final : public Sharing, private stores::Followed {
 public:
  RedisResponses(Options options, dialects::ResponseStore& here)
      : options_(std::move(options)),
        here_(here),
        redis_(options_.server),
        stream_(options_.prefix + "deleted"),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        follower_({.server = options_.server,
                   .stream = stream_,
                   .read_limit = options_.read_limit,
                   .grace = options_.grace},
                  queue_, *this) {}

  Result<Found> get(std::string_view id, bool is_here, size_t bytes_max) override;
  void put(std::string_view id, ResponsePointer response, int64_t ttl_s,
           std::function<void()> done) override;
  Result<void> remove(std::string_view id, int64_t ttl_s) override;
  milliseconds patience(const dialects::StoredResponse& response) const override {
    return options_.server.connect_limit + options_.write_limit + time_for(response.bytes());
  }
  Stats stats() const override {
    const WriteQueue::Stats all = queue_.stats();
    return {.works = all.works && follower_.is_readable(),
            .written = all.written,
            .refused = all.refused,
            .dropped = all.dropped,
            .waiting = all.waiting,
            .late = all.late};
  }
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
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
  Result<void> delete_all(std::span<const NamedDeletion> deletions);

  void learn(const std::string& id, int64_t until_ms);

  // For the follower.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const NamedDeletion> deletions) override {
    return delete_all(deletions);
  }
  std::vector<stores::LostRecord> records() override;

  const Options options_;
  dialects::ResponseStore& here_;
  stores::Redis redis_;
  const std::string stream_;
  mutable std::mutex mutex_;
  Deletions deletions_;
  std::atomic<bool> unreadable_ = false;  // and it was logged
  WriteQueue queue_;
  stores::Follower follower_;
};

// --- for requests ---

Result<RedisResponses::Found> RedisResponses::get(std::string_view id, bool is_here,
                                                  size_t bytes_max) {
  if (is_deleted(id)) return Found{true};
  const auto unreadable = [] {
    return fail(Code::kUpstream,
                "the store that routers share does not respond, and this router has no copy");
  };
  // The caller goes on with a copy of its own, as it does while Redis is away.
  if (!follower_.is_readable()) return unreadable();
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
    const NamedDeletion deletion{id, now_ms() + ttl_ms};
    removed = delete_all({&deletion, 1});
  }
  if (removed) return {};
  if (removed.error().code == Code::kUpstream) queue_.set_refusing(removed.error());
  return fail(Code::kUpstream, "{}", kNotDeleted);
}

Result<void> RedisResponses::delete_all(std::span<const NamedDeletion> deletions) {
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

// --- for the follower ---

void RedisResponses::learn(const std::string& id, int64_t until_ms) {
  {
    const std::lock_guard lock(mutex_);
    // Each new connection reads all of them again.
    if (!deletions_.add(id, until_ms, now_ms())) return;
  }
  here_.forget(id);
  queue_.forget(id);
}

std::string RedisResponses::learn(const std::vector<std::string>& entry) {
  if (entry.size() != 4 || entry[1].size() > kIdBytesMax) return {};
  int64_t until_ms = 0;
  std::from_chars(entry[3].data(), entry[3].data() + entry[3].size(), until_ms);
  if (until_ms > now_ms()) learn(entry[1], until_ms);
  return entry[1];
}

Result<std::vector<NamedDeletion>> RedisResponses::deletions() {
  const std::lock_guard lock(mutex_);
  return deletions_.all(now_ms());
}

std::vector<stores::LostRecord> RedisResponses::records() {
  std::vector<stores::LostRecord> out;
  for (auto& [id, response] : here_.all(std::time(nullptr))) {
    const size_t bytes = response->bytes();
    if (bytes > kRecordBytesMax) continue;
    out.push_back({key_of("r:", id), bytes, [this, id = id, response = std::move(response)] {
                     const int64_t ttl_s = here_.left(*response, std::time(nullptr));
                     if (ttl_s > 0) put(id, response, ttl_s, {});
                   }});
  }
  return out;
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
