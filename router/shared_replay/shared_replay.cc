// Each read queries the server, so that all routers return the same records.

#include "router/shared_replay/shared_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "router/shared_replay/postgres_replay.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/redis_replay.h"
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
using stores::now_ms;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;

/// The place in the file, for the log.
constexpr std::string_view kSection = "global.services.router_replay";
constexpr WriteQueue::Words kWords{.area = "replay",
                                   .section = kSection,
                                   .records = "records",
                                   .meanwhile = "wait",
                                   .unwritten = "are dropped"};
/// A shadow may be written before its record, on another thread.
constexpr int kShadowAttempts = 2;

tl::unexpected<Error> unreadable() {
  return fail(Code::kUpstream,
              "the store of records, which routers share, does not respond, or has just come back");
}

class ReplayByServer final : public SharedReplay, private stores::Followed {
 public:
  ReplayByServer(std::unique_ptr<ReplayServer> server, const SharingOptions& options)
      : options_(options),
        server_(std::move(server)),
        queue_(server_->name(), options_.waiting_bytes, kWords),
        follower_(server_->feed(), {.read_limit = server_->read_limit(), .grace = options_.grace},
                  queue_, *this) {}

  void set_limits(const Limits& limits) override { server_->set_limits(limits); }
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
  /// Logs a refusal of the server. Returns only that the store does not respond, so that no reply
  /// names the server.
  template <class Answer>
  Result<Answer> for_request(Result<Answer> answer);
  void queue(size_t bytes, size_t longest, std::function<Result<void>()> write);
  Result<size_t> delete_all(Deletion deletion);
  std::optional<std::string> checked(std::string_view text);

  // For the follower.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const NamedDeletion> deletions) override;
  std::vector<stores::LostRecord> records() override { return {}; }

  const SharingOptions options_;
  const std::unique_ptr<ReplayServer> server_;
  std::atomic<size_t> size_ = 0;
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false;
  std::mutex mutex_;
  stores::Deletions deletions_;
  WriteQueue queue_;
  stores::Follower follower_;
};

template <class Answer>
Result<Answer> ReplayByServer::for_request(Result<Answer> answer) {
  if (answer) {
    refusal_logged_ = false;
    return answer;
  }
  // Log refusals only; the follower logs a server that does not respond.
  if (answer.error().code == Code::kUpstream && !refusal_logged_.exchange(true))
    log::warn("replay", "{}: {}", kSection, answer.error().message);
  return unreadable();
}

// Returns nullopt for a text that no router has written.
std::optional<std::string> ReplayByServer::checked(std::string_view text) {
  auto object = read_object(text);
  if (object) return *std::move(object);
  if (!damage_logged_.exchange(true))
    log::warn("replay", "{}: {}; it is left out", server_->name(), object.error().message);
  return std::nullopt;
}

void ReplayByServer::queue(size_t bytes, size_t longest, std::function<Result<void>()> write) {
  WriteQueue::Item item{.bytes = bytes, .useful_until = Clock::now() + options_.waits_max};
  if (longest > kTextBytesMax) {
    const std::string why = fmt::format("a record has a text of {} bytes, and at most {} are kept",
                                        longest, kTextBytesMax);
    return queue_.refuse(std::move(item), why);
  }
  item.write = std::move(write);
  queue_.add(std::move(item));
}

void ReplayByServer::add(Account& account) {
  NewRecord record{.id = account.replay_id,
                   .json = observe::record_json(account),
                   .scopes = {"*"},
                   .texts_last = account.body_age_max,
                   .request = {std::move(account.request_body), account.request_cut},
                   .response = {std::move(account.response_body), account.response_cut}};
  const auto enter = [&record](Property property, std::string_view value) {
    if (!value.empty()) record.names.push_back(index_name(property, value));
    return value.empty() ? std::string() : record.names.back();
  };
  enter(Property::kDecision, account.decision);
  enter(Property::kModel, account.model);
  const std::string user = enter(Property::kUser, account.user);
  const std::string key = enter(Property::kKey, account.key);
  if (!user.empty()) record.scopes.push_back(user);
  if (!key.empty()) record.scopes.push_back(key);
  if (!user.empty() && !key.empty()) record.scopes.push_back(user + "+" + key);
  const size_t bytes = record.bytes(), longest = record.longest_text();
  queue(bytes, longest, [this, ended = Clock::now(), record = std::move(record)] {
    return server_->add(record, std::chrono::duration_cast<milliseconds>(Clock::now() - ended));
  });
}

void ReplayByServer::add_shadow(const observe::Shadow& shadow) {
  if (!is_record_id(shadow.replay_id)) return;
  std::string json = observe::shadow_json(shadow);
  const size_t bytes = json.size() + shadow.response.size();
  const size_t longest = std::max(json.size(), shadow.response.size());
  queue(bytes, longest,
        [this, id = shadow.replay_id, json = std::move(json), text = shadow.response,
         token = new_token(), attempts = 0]() mutable -> Result<void> {
          SIGNALBOX_TRY(const bool is_there, server_->add_shadow(id, json, text, token));
          if (!is_there && ++attempts < kShadowAttempts)
            return fail(Code::kNotFound, "the record of a shadow is not there yet");
          return {};
        });
}

Result<std::string> ReplayByServer::list_json(const Query& query) {
  std::vector<std::string> names;
  const auto choose = [&names](Property property, std::string_view value) {
    if (!value.empty()) names.push_back(index_name(property, value));
  };
  choose(Property::kDecision, query.decision);
  choose(Property::kModel, query.model);
  choose(Property::kUser, query.user);
  choose(Property::kKey, query.key);
  if (!is_readable()) return unreadable();
  SIGNALBOX_TRY(const RecordPage page,
                for_request(server_->list(names, query.offset, query.limit)));
  std::string data;
  size_t count = 0;
  for (const std::string& each : page.records) {
    const auto record = checked(each);
    if (!record) continue;
    ++count;
    data.append(data.empty() ? "" : ",").append(*record);
  }
  return fmt::format(R"({{"object":"router_replay.list","count":{},"total":{},"data":[{}]}})",
                     count, page.total, data);
}

Result<std::optional<std::string>> ReplayByServer::find_json(std::string_view id) {
  if (!is_record_id(id)) return std::nullopt;
  if (!is_readable()) return unreadable();
  SIGNALBOX_TRY(auto found, for_request(server_->find(id)));
  auto record = found ? checked(found->json) : std::nullopt;
  if (!record) return std::nullopt;
  RecordTexts out{.json = *std::move(record),
                  .request_body = std::move(found->request.text),
                  .response_body = std::move(found->response.text),
                  .request_cut = found->request.is_cut,
                  .response_cut = found->response.is_cut};
  for (const std::string& each : found->outcomes) {
    const auto outcome = checked(each);
    if (outcome) out.outcomes.append(out.outcomes.empty() ? "" : ",").append(*outcome);
  }
  for (auto& [json, response] : found->shadows) {
    auto shadow = checked(json);
    if (shadow) out.shadows.push_back({*std::move(shadow), std::move(response)});
  }
  out.bodies_expired = found->had_texts && !out.has_bodies();
  return detail_json(out);
}

Result<std::optional<observe::Replay::Answered>> ReplayByServer::answered(std::string_view id) {
  if (!is_record_id(id)) return std::nullopt;
  if (!is_readable()) return unreadable();
  SIGNALBOX_TRY(const auto found, for_request(server_->find(id)));
  if (!found) return std::nullopt;
  auto out = read_answered(found->json);
  if (!out) return std::nullopt;
  return *std::move(out);
}

Result<bool> ReplayByServer::add_outcome(std::string_view id, std::string_view json) {
  if (!is_record_id(id)) return false;
  if (!is_readable()) return unreadable();
  return for_request(server_->add_outcome(id, json));
}

size_t ReplayByServer::size() {
  if (!is_readable()) return size_;
  if (const auto found = for_request(server_->list({}, 0, 0))) size_ = found->total;
  return size_;
}

std::optional<observe::Replay::Shared> ReplayByServer::shared() const {
  const WriteQueue::Stats all = queue_.stats();
  return Shared{.works = all.works && is_readable(),
                .waiting = all.waiting,
                .written = all.written,
                .refused = all.refused,
                .dropped = all.dropped};
}

// --- deletions ---

Result<size_t> ReplayByServer::remove(std::string_view user, std::string_view key) {
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

// Deletes the records that are older than the deletion's moment; 0 stands for now.
Result<size_t> ReplayByServer::delete_all(Deletion deletion) {
  size_t out = 0;
  bool goes_on = true;
  for (bool is_first = true; goes_on; is_first = false) {
    SIGNALBOX_TRY(const Removed done, server_->remove(deletion, is_first));
    deletion.moment = done.moment;
    out += done.count;
    goes_on = done.may_remain;
  }
  const std::lock_guard lock(mutex_);
  deletions_.add(deletion.name(), now_ms() + kDeletionsLast.count(), now_ms());
  return out;
}

std::string ReplayByServer::learn(const std::vector<std::string>& entry) {
  if (entry.size() < 2) return {};
  const Deletion deletion = read_deletion(entry[1]);
  if (deletion.moment == 0) return {};
  const std::lock_guard lock(mutex_);
  deletions_.add(deletion.name(), now_ms() + kDeletionsLast.count(), now_ms());
  return deletion.name();
}

Result<std::vector<NamedDeletion>> ReplayByServer::deletions() {
  const std::lock_guard lock(mutex_);
  return deletions_.all(now_ms());
}

Result<void> ReplayByServer::delete_again(std::span<const NamedDeletion> deletions) {
  for (const auto& [name, until_ms] : deletions)
    SIGNALBOX_TRY_VOID(delete_all(read_deletion(name)));
  return {};
}

Result<std::unique_ptr<ReplayServer>> redis_of(const config::Redis& redis) {
  RedisOptions options;
  SIGNALBOX_TRY_VOID(stores::set_redis(redis, options));
  return make_redis_replay(std::move(options));
}

Result<std::unique_ptr<ReplayServer>> postgres_of(const config::Postgres& postgres) {
  PostgresOptions options;
  SIGNALBOX_TRY_VOID(stores::set_postgres(postgres, options));
  return make_postgres_replay(options);
}

}  // namespace

size_t NewRecord::bytes() const {
  size_t out = sizeof *this + id.size() + json.size() + request.text.size() + response.text.size();
  for (const auto* list : {&names, &scopes}) {
    for (const std::string& each : *list) out += each.size() + sizeof each;
  }
  return out;
}

size_t NewRecord::longest_text() const {
  return std::max({json.size(), request.text.size(), response.text.size()});
}

std::unique_ptr<SharedReplay> share_replay(std::unique_ptr<ReplayServer> server,
                                           const SharingOptions& options) {
  return std::make_unique<ReplayByServer>(std::move(server), options);
}

Result<std::unique_ptr<SharedReplay>> open(const config::RouterReplay& replay) {
  auto server =
      replay.store_backend == "postgres" ? postgres_of(replay.postgres) : redis_of(replay.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  return share_replay(*std::move(server));
}

}  // namespace signalbox::shared_replay
