// The functions for requests, and those that follow the deletions of all routers.

#include "router/shared_responses/shared_responses.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/shared_responses/postgres_responses.h"
#include "router/shared_responses/record.h"
#include "router/shared_responses/redis_responses.h"
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
using stores::now_ms;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;

/// The place in the file, for the log.
constexpr std::string_view kSection = "global.services.response_api";
constexpr WriteQueue::Words kWords{.area = "responses",
                                   .section = kSection,
                                   .records = "responses",
                                   .meanwhile = "stay in this router",
                                   .unwritten = "stay in this router"};
constexpr size_t kIdBytesMax = 64;

class SharedByServer final : public Sharing, private stores::Followed {
 public:
  SharedByServer(std::unique_ptr<ResponseServer> server, dialects::ResponseStore& here,
                 const SharingOptions& options)
      : here_(here),
        server_(std::move(server)),
        queue_(server_->name(), options.waiting_bytes, kWords),
        follower_(server_->feed(), {.read_limit = server_->limits().read, .grace = options.grace},
                  queue_, *this) {}

  Result<Found> get(std::string_view id, bool is_here, size_t bytes_max) override;
  void put(std::string_view id, ResponsePointer response, int64_t ttl_s,
           std::function<void()> done) override;
  Result<void> remove(std::string_view id, int64_t ttl_s) override;
  milliseconds patience(const dialects::StoredResponse& response) const override {
    return server_->limits().connect + server_->limits().write + time_for(response.text_bytes());
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
  bool is_deleted(std::string_view id) const {
    const std::lock_guard lock(mutex_);
    return deletions_.contains(id);
  }
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

  dialects::ResponseStore& here_;
  const std::unique_ptr<ResponseServer> server_;
  mutable std::mutex mutex_;
  Deletions deletions_;
  std::atomic<bool> unreadable_ = false;  // true: a refusal was logged
  WriteQueue queue_;
  stores::Follower follower_;
};

// --- for requests ---

Result<SharedByServer::Found> SharedByServer::get(std::string_view id, bool is_here,
                                                  size_t bytes_max) {
  if (is_deleted(id)) return Found{true};
  const auto unreadable = [] {
    return fail(Code::kUpstream,
                "the store that routers share does not respond, and this router has no copy");
  };
  // Return an error, so that the caller uses a copy of its own, as it does while the server is
  // away.
  if (!follower_.is_readable()) return unreadable();
  const auto record = server_->read(id, is_here, bytes_max);
  if (!record && record.error().code == Code::kTooLarge) return tl::unexpected(record.error());
  if (!record) {
    // Log refusals only; the follower logs a server that does not respond.
    if (record.error().code == Code::kUpstream && !unreadable_.exchange(true))
      log::warn("responses", "{}: {}", kSection, record.error().message);
    return unreadable();
  }
  unreadable_ = false;
  if (!*record) return Found{true};
  if ((*record)->empty()) return Found{};
  auto response = read_record(**record);
  if (!response) {
    log::warn("responses", "{}: {}", server_->name(), response.error().message);
    return Found{};
  }
  return Found{false, std::make_shared<const dialects::StoredResponse>(*std::move(response))};
}

void SharedByServer::put(std::string_view id, ResponsePointer response, int64_t ttl_s,
                         std::function<void()> done) {
  const auto now = Clock::now();
  WriteQueue::Item item{.id = std::string(id),
                        .bytes = response->text_bytes(),
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

Result<void> SharedByServer::write(const std::string& id, const dialects::StoredResponse& response,
                                   Clock::time_point until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
  if (left.count() <= 0 || is_deleted(id)) return {};
  return server_->write(id, write_record(response), left);
}

// Another router may keep the response as long as its record on the server.
Result<void> SharedByServer::remove(std::string_view id, int64_t ttl_s) {
  constexpr std::string_view kNotDeleted =
      "the response is not deleted, because the store that routers share takes no changes now";
  if (queue_.is_away()) return fail(Code::kUpstream, "{}", kNotDeleted);
  Result<void> removed;
  if (const auto left = server_->left(id); !left) {
    removed = tl::unexpected(left.error());
  } else {
    const int64_t ttl_ms = std::max({int64_t{left->count()}, ttl_s * 1000, int64_t{1}});
    const NamedDeletion deletion{id, now_ms() + ttl_ms};
    removed = delete_all({&deletion, 1});
  }
  if (removed) return {};
  if (removed.error().code == Code::kUpstream) queue_.set_refusing(removed.error());
  return fail(Code::kUpstream, "{}", kNotDeleted);
}

Result<void> SharedByServer::delete_all(std::span<const NamedDeletion> deletions) {
  SIGNALBOX_TRY_VOID(server_->remove(deletions));
  queue_.set_accepting();
  for (const auto& [id, until_ms] : deletions) learn(id, until_ms);
  return {};
}

// --- for the follower ---

void SharedByServer::learn(const std::string& id, int64_t until_ms) {
  {
    const std::lock_guard lock(mutex_);
    // Each new connection reads all of them again.
    if (!deletions_.add(id, until_ms, now_ms())) return;
  }
  here_.forget(id);
  queue_.forget(id);
}

std::string SharedByServer::learn(const std::vector<std::string>& entry) {
  if (entry.size() != 4 || entry[1].size() > kIdBytesMax) return {};
  int64_t until_ms = 0;
  std::from_chars(entry[3].data(), entry[3].data() + entry[3].size(), until_ms);
  if (until_ms > now_ms()) learn(entry[1], until_ms);
  return entry[1];
}

Result<std::vector<NamedDeletion>> SharedByServer::deletions() {
  const std::lock_guard lock(mutex_);
  return deletions_.all(now_ms());
}

std::vector<stores::LostRecord> SharedByServer::records() {
  std::vector<stores::LostRecord> out;
  for (auto& [id, response] : here_.all(std::time(nullptr))) {
    const size_t bytes = response->text_bytes();
    if (bytes > kRecordBytesMax) continue;
    out.push_back({server_->key_of(id), bytes, [this, id = id, response = std::move(response)] {
                     const int64_t ttl_s = here_.left(*response, std::time(nullptr));
                     if (ttl_s > 0) put(id, response, ttl_s, {});
                   }});
  }
  return out;
}

Result<std::unique_ptr<ResponseServer>> redis_of(const config::Redis& redis) {
  RedisOptions options;
  SIGNALBOX_TRY_VOID(stores::set_redis(redis, options));
  return make_redis_responses(std::move(options));
}

Result<std::unique_ptr<ResponseServer>> postgres_of(const config::Postgres& postgres) {
  PostgresOptions options;
  SIGNALBOX_TRY_VOID(stores::set_postgres(postgres, options));
  return make_postgres_responses(options);
}

}  // namespace

std::unique_ptr<Sharing> share_responses(std::unique_ptr<ResponseServer> server,
                                         dialects::ResponseStore& here,
                                         const SharingOptions& options) {
  return std::make_unique<SharedByServer>(std::move(server), here, options);
}

Result<std::unique_ptr<Sharing>> open(const config::ResponseApi& config,
                                      dialects::ResponseStore& here) {
  if (!config.enabled || !config.is_shared()) return nullptr;
  auto server =
      config.store_backend == "postgres" ? postgres_of(config.postgres) : redis_of(config.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  return share_responses(*std::move(server), here);
}

}  // namespace signalbox::shared_responses
