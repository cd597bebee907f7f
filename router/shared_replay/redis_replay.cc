// Each function that reads asks Redis, so that all routers have the same records at once.

#include "router/shared_replay/redis_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/scripts.h"
#include "router/stores/deletions.h"
#include "router/stores/follower.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_replay {
namespace {

using observe::Account;
using observe::RecordTexts;
using std::chrono::milliseconds;
using stores::NamedDeletion;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;
using Words = std::vector<std::string>;

/// The place in the file, for the log.
constexpr std::string_view kSection = "global.services.router_replay";
constexpr WriteQueue::Words kWords{.area = "replay",
                                   .section = kSection,
                                   .records = "records",
                                   .meanwhile = "are dropped",
                                   .unwritten = "are dropped"};
/// As long as the stream in Redis. A server that was restored from older data than that brings
/// deleted records back.
constexpr int64_t kDeletionMs = int64_t{60} * 86'400'000;
constexpr int64_t kDeletedAtOnce = 500;
/// A shadow may be written before its record, on another thread.
constexpr int kShadowAttempts = 2;

int64_t now_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

tl::unexpected<Error> unreadable() {
  return fail(Code::kUpstream,
              "the store of records, which routers share, does not respond, or has just come back");
}

std::string text_of(const RedisValue& list, size_t i) {
  return i < list.items.size() ? list.items[i].text : std::string();
}

class RedisReplay final : public SharedReplay, private stores::Followed {
 public:
  explicit RedisReplay(Options options)
      : options_(std::move(options)),
        redis_(options_.server),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        follower_({.server = options_.server,
                   .stream = options_.prefix + "deleted",
                   .read_limit = options_.read_limit,
                   .grace = options_.grace},
                  queue_, *this) {}

  void set_limits(const Limits& limits) override {
    records_max_ = limits.records;
    age_max_ms_ = milliseconds(limits.age).count();
    all_bytes_max_ = limits.bytes;
  }
  void add(Account& account) override;
  Result<std::string> list_json(const Query& query) override;
  Result<std::optional<std::string>> find_json(std::string_view id) override;
  Result<size_t> remove(std::string_view user, std::string_view key) override;
  size_t size() override;
  Result<std::optional<Answered>> answered(std::string_view id) override;
  Result<bool> add_outcome(std::string_view id, std::string_view json) override;
  void add_shadow(const observe::Shadow& shadow) override;
  std::optional<Shared> shared() const override;
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
  bool is_readable() const { return follower_.is_readable() && !follower_.repeats_deletions(); }
  Result<RedisValue> run(std::string_view script, const Words& words, milliseconds limit);
  /// The same for requests, which learn no more than that the store does not respond.
  Result<RedisValue> ask(std::string_view script, const Words& words);
  void queue(Words words, std::function<Result<void>(const Words&)> write);
  Result<void> write_record(Words words, Clock::time_point ended);
  Result<size_t> delete_all(Deletion deletion);
  std::optional<std::string> checked(std::string_view text);

  // For the follower.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const NamedDeletion> deletions) override;
  std::vector<stores::LostRecord> records() override { return {}; }

  const Options options_;
  stores::Redis redis_;
  std::atomic<size_t> records_max_ = 1000, size_ = 0;
  std::atomic<int64_t> age_max_ms_ = 0;
  std::atomic<uint64_t> all_bytes_max_ = 0;
  std::atomic<uint64_t> lost_ = 0;  // while Redis was away
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false;
  std::mutex mutex_;
  stores::Deletions deletions_;
  WriteQueue queue_;
  stores::Follower follower_;
};

Result<RedisValue> RedisReplay::run(std::string_view script, const Words& words,
                                    milliseconds limit) {
  stores::Redis::Command command{"EVAL", script, "1", options_.prefix};
  command.insert(command.end(), words.begin(), words.end());
  return redis_.run(command, limit);
}

Result<RedisValue> RedisReplay::ask(std::string_view script, const Words& words) {
  if (!is_readable()) return unreadable();
  auto out = run(script, words, options_.read_limit);
  if (out) {
    refusal_logged_ = false;
    return out;
  }
  // If it does not answer, the follower logs that.
  if (out.error().code == Code::kUpstream && !refusal_logged_.exchange(true))
    log::warn("replay", "{}: {}", kSection, out.error().message);
  return unreadable();
}

// Returns nullopt for a text that no router has written.
std::optional<std::string> RedisReplay::checked(std::string_view text) {
  auto object = read_object(text);
  if (object) return *std::move(object);
  if (!damage_logged_.exchange(true))
    log::warn("replay", "{}: {}; it is left out", redis_.name(), object.error().message);
  return std::nullopt;
}

void RedisReplay::queue(Words words, std::function<Result<void>(const Words&)> write) {
  if (queue_.is_away()) {
    ++lost_;
    return;
  }
  WriteQueue::Item item{.useful_until = Clock::now() + options_.waits_max};
  size_t longest = 0;
  for (const std::string& word : words) {
    item.bytes += word.size() + sizeof word;
    longest = std::max(longest, word.size());
  }
  if (longest > kTextBytesMax) {
    const std::string why = fmt::format("a record has a text of {} bytes, and at most {} are kept",
                                        longest, kTextBytesMax);
    return queue_.refuse(std::move(item), why);
  }
  item.write = [words = std::move(words), write = std::move(write)] { return write(words); };
  queue_.add(std::move(item));
}

void RedisReplay::add(Account& account) {
  const std::string user = index_name(Property::kUser, account.user);
  const std::string key = index_name(Property::kKey, account.key);
  std::string names, scopes = "*";
  const auto enter = [&names](std::string_view name) {
    names.append(names.empty() ? "" : " ").append(name);
  };
  if (!account.decision.empty()) enter(index_name(Property::kDecision, account.decision));
  if (!account.model.empty()) enter(index_name(Property::kModel, account.model));
  if (!account.user.empty()) enter(user);
  if (!account.key.empty()) enter(key);
  if (!account.user.empty()) scopes += " " + user;
  if (!account.key.empty()) scopes += " " + key;
  if (!account.user.empty() && !account.key.empty()) scopes += " " + user + "+" + key;
  Words words{account.replay_id,
              observe::record_json(account),
              std::move(names),
              std::move(scopes),
              "0",
              std::to_string(age_max_ms_),
              std::to_string(records_max_),
              std::to_string(milliseconds(account.body_age_max).count()),
              std::to_string(all_bytes_max_)};
  const auto add_body = [&words](const char* name, std::string& text, bool is_cut) {
    if (text.empty()) return;
    words.insert(words.end(),
                 {name, std::move(text), std::string(name) + "_cut", is_cut ? "1" : "0"});
  };
  add_body("request", account.request_body, account.request_cut);
  add_body("response", account.response_body, account.response_cut);
  queue(std::move(words),
        [this, ended = Clock::now()](const Words& all) { return write_record(all, ended); });
}

Result<void> RedisReplay::write_record(Words words, Clock::time_point ended) {
  words[4] = std::to_string(std::chrono::duration_cast<milliseconds>(Clock::now() - ended).count());
  SIGNALBOX_TRY_VOID(run(add_script(), words, options_.write_limit));
  return {};
}

void RedisReplay::add_shadow(const observe::Shadow& shadow) {
  if (!is_record_id(shadow.replay_id)) return;
  queue({shadow.replay_id, observe::shadow_json(shadow), shadow.response},
        [this, attempts = 0](const Words& words) mutable -> Result<void> {
          SIGNALBOX_TRY(const RedisValue added, run(shadow_script(), words, options_.write_limit));
          if (added.number == 0 && ++attempts < kShadowAttempts)
            return fail(Code::kNotFound, "the record of a shadow is not there yet");
          return {};
        });
}

Result<std::string> RedisReplay::list_json(const Query& query) {
  Words words{std::to_string(age_max_ms_), std::to_string(query.offset),
              std::to_string(query.limit)};
  const auto choose = [&words](Property property, std::string_view value) {
    if (!value.empty()) words.push_back(index_name(property, value));
  };
  choose(Property::kDecision, query.decision);
  choose(Property::kModel, query.model);
  choose(Property::kUser, query.user);
  choose(Property::kKey, query.key);
  SIGNALBOX_TRY(const RedisValue found, ask(list_script(), words));
  if (found.items.empty()) return unreadable();
  std::string data;
  size_t count = 0;
  for (size_t i = 1; i < found.items.size(); ++i) {
    const auto record = checked(found.items[i].text);
    if (!record) continue;
    ++count;
    data.append(data.empty() ? "" : ",").append(*record);
  }
  return fmt::format(R"({{"object":"router_replay.list","count":{},"total":{},"data":[{}]}})",
                     count, found.items[0].number, data);
}

Result<std::optional<std::string>> RedisReplay::find_json(std::string_view id) {
  if (!is_record_id(id)) return std::nullopt;
  SIGNALBOX_TRY(const RedisValue found, ask(find_script(), {std::string(id)}));
  if (found.items.size() != 6) return std::nullopt;
  RecordTexts out;
  if (auto record = checked(found.items[0].text)) {
    out.json = *std::move(record);
  } else {
    return std::nullopt;
  }
  const RedisValue& bodies = found.items[2];
  out.request_body = text_of(bodies, 0);
  out.request_cut = text_of(bodies, 1) == "1";
  out.response_body = text_of(bodies, 2);
  out.response_cut = text_of(bodies, 3) == "1";
  for (const RedisValue& each : found.items[3].items) {
    const auto outcome = checked(each.text);
    if (outcome) out.outcomes.append(out.outcomes.empty() ? "" : ",").append(*outcome);
  }
  const RedisValue& shadows = found.items[4];
  for (size_t i = 0; i < shadows.items.size(); ++i) {
    auto shadow = checked(shadows.items[i].text);
    if (shadow) out.shadows.push_back({*std::move(shadow), text_of(found.items[5], i)});
  }
  out.bodies_expired = found.items[1].text == "1" && !out.has_bodies();
  return detail_json(out);
}

Result<std::optional<observe::Replay::Answered>> RedisReplay::answered(std::string_view id) {
  if (!is_record_id(id)) return std::nullopt;
  SIGNALBOX_TRY(const RedisValue found, ask(find_script(), {std::string(id)}));
  if (found.items.empty()) return std::nullopt;
  auto out = read_answered(found.items[0].text);
  if (!out) return std::nullopt;
  return *std::move(out);
}

Result<bool> RedisReplay::add_outcome(std::string_view id, std::string_view json) {
  if (!is_record_id(id)) return false;
  SIGNALBOX_TRY(const RedisValue added,
                ask(outcome_script(), {std::string(id), std::string(json)}));
  return added.number == 1;
}

size_t RedisReplay::size() {
  if (!is_readable()) return size_;
  if (const auto found = ask(list_script(), {std::to_string(age_max_ms_), "0", "0"});
      found && !found->items.empty())
    size_ = static_cast<size_t>(found->items[0].number);
  return size_;
}

std::optional<observe::Replay::Shared> RedisReplay::shared() const {
  const WriteQueue::Stats all = queue_.stats();
  return Shared{.works = all.works && is_readable(),
                .waiting = all.waiting,
                .written = all.written,
                .refused = all.refused,
                .dropped = all.dropped + lost_};
}

// --- deletions ---

Result<size_t> RedisReplay::remove(std::string_view user, std::string_view key) {
  constexpr std::string_view kNotDeleted =
      "nothing is deleted for certain, because the store of records, which routers share, does not "
      "respond";
  Deletion deletion;
  if (!user.empty()) deletion.user = index_name(Property::kUser, user);
  if (!key.empty()) deletion.key = index_name(Property::kKey, key);
  if (queue_.is_away()) return fail(Code::kUpstream, "{}", kNotDeleted);
  auto count = delete_all(std::move(deletion));
  if (count) return count;
  if (count.error().code == Code::kUpstream && !refusal_logged_.exchange(true))
    log::warn("replay", "{}: {}", kSection, count.error().message);
  return fail(Code::kUpstream, "{}", kNotDeleted);
}

// Deletes what is older than the deletion's moment; 0: than now.
Result<size_t> RedisReplay::delete_all(Deletion deletion) {
  size_t out = 0;
  bool goes_on = true;
  for (bool is_first = true; goes_on; is_first = false) {
    Words words{std::to_string(deletion.moment), is_first ? "1" : "0", deletion.scope(),
                std::to_string(kDeletedAtOnce)};
    for (std::string& name : deletion.indices()) words.push_back(std::move(name));
    SIGNALBOX_TRY(const RedisValue done, run(remove_script(), words, options_.write_limit));
    if (done.items.size() != 3)
      return fail(Code::kIo, "{}: a script returned an unexpected reply", redis_.name());
    const std::string& moment = done.items[1].text;
    std::from_chars(moment.data(), moment.data() + moment.size(), deletion.moment);
    out += static_cast<size_t>(done.items[0].number);
    goes_on = done.items[2].number == kDeletedAtOnce;
  }
  const std::lock_guard lock(mutex_);
  deletions_.add(deletion.name(), now_ms() + kDeletionMs, now_ms());
  return out;
}

std::string RedisReplay::learn(const std::vector<std::string>& entry) {
  if (entry.size() != 2) return {};
  const Deletion deletion = read_deletion(entry[1]);
  if (deletion.moment == 0) return {};
  const std::lock_guard lock(mutex_);
  deletions_.add(deletion.name(), now_ms() + kDeletionMs, now_ms());
  return deletion.name();
}

Result<std::vector<NamedDeletion>> RedisReplay::deletions() {
  const std::lock_guard lock(mutex_);
  return deletions_.all(now_ms());
}

Result<void> RedisReplay::delete_again(std::span<const NamedDeletion> deletions) {
  for (const auto& [name, until_ms] : deletions)
    SIGNALBOX_TRY_VOID(delete_all(read_deletion(name)));
  return {};
}

}  // namespace

std::unique_ptr<SharedReplay> make_redis_replay(Options options) {
  return std::make_unique<RedisReplay>(std::move(options));
}

Result<std::unique_ptr<SharedReplay>> open(const config::RouterReplay& replay) {
  auto server = stores::redis_server(replay.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  if (!replay.redis.key_prefix.empty()) options.prefix = replay.redis.key_prefix;
  stores::set_seconds(replay.redis.read_timeout, options.read_limit);
  stores::set_seconds(replay.redis.write_timeout, options.write_limit);
  return make_redis_replay(std::move(options));
}

}  // namespace signalbox::shared_replay
