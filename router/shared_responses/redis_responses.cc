// A reply ends when its response has been written or Redis has not answered in time. So a client
// that has the reply can continue it at any router, also if its own router has been killed.

#include "router/shared_responses/redis_responses.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/shared_responses/record.h"
#include "router/stores/redis_config.h"
#include "router/upstream/breaker.h"

namespace signalbox::shared_responses {
namespace {

using dialects::StoredResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Command = stores::Redis::Command;

constexpr milliseconds kRetry{250};
constexpr std::string_view kSection = "global.services.response_api";

class RedisResponses final : public dialects::SharedResponses {
 public:
  explicit RedisResponses(Options options)
      : options_(std::move(options)),
        redis_(options_.server),
        last_byte_(std::to_string(kRecordBytesMax - 1)),
        thread_([this] { write_in_turns(); }) {}

  ~RedisResponses() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  Result<Found> get(std::string_view id) override {
    const std::string at = key_of("r:", id), removed_at = key_of("d:", id);
    SIGNALBOX_TRY(
        const auto values,
        run({{"GETRANGE", at, "0", last_byte_}, {"EXISTS", removed_at}}, options_.read_limit));
    if (values[1].number != 0) return Found{State::kRemoved, nullptr};
    if (values[0].text.empty()) return Found{};
    auto response = read_record(values[0].text);
    if (!response) {
      log::warn("responses", "{}: {}", redis_.name(), response.error().message);
      return Found{};
    }
    return Found{State::kThere, std::make_shared<const StoredResponse>(*std::move(response))};
  }

  void put(std::string_view id, std::shared_ptr<const StoredResponse> response, int64_t ttl_s,
           bool waits) override {
    if (response->bytes() > kRecordBytesMax) return;
    Waiting one{std::string(id), std::move(response), steady_clock::now() + seconds(ttl_s)};
    if (!waits || !write(one)) wait(std::move(one));
  }

  Result<void> remove(std::string_view id, int64_t ttl_s) override {
    const std::string at = key_of("r:", id), removed_at = key_of("d:", id);
    const std::string ttl = std::to_string(ttl_s);
    SIGNALBOX_TRY(const auto done,
                  run({{"MULTI"}, {"SET", removed_at, "1", "EX", ttl}, {"DEL", at}, {"EXEC"}},
                      options_.write_limit));
    return {};
  }

 private:
  struct Waiting {
    std::string id;
    std::shared_ptr<const StoredResponse> response;
    steady_clock::time_point until;  // it expires then
  };

  std::string key_of(std::string_view kind, std::string_view id) const {
    return options_.prefix + std::string(kind) + std::string(id);
  }

  Result<std::vector<stores::RedisValue>> run(const std::vector<Command>& commands,
                                              milliseconds limit) {
    if (!breaker_.allows(steady_clock::now())) {
      return fail(Code::kUpstream,
                  "{} does not respond, and responses of other routers are "
                  "only there",
                  redis_.name());
    }
    auto out = redis_.run_all(commands, limit);
    const bool responds = out || out.error().code == Code::kUpstream;
    const bool changed = breaker_.tell(responds, steady_clock::now());
    if (changed && responds) log::info("responses", "{} works again", redis_.name());
    const std::string refusal = out ? "" : out.error().message;
    const std::lock_guard lock(mutex_);
    if (!out && refusal != std::exchange(refusal_, refusal)) {
      log::warn("responses", "{}: {}; until this is over, new responses stay in this router",
                kSection, refusal);
    }
    if (out) refusal_.clear();
    if (!out) return fail(Code::kUpstream, "{}", refusal);
    return out;
  }

  bool write(const Waiting& one) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(one.until - steady_clock::now()).count();
    if (left <= 0) return true;
    const std::string at = key_of("r:", one.id);
    const std::string ttl = std::to_string(left), record = write_record(*one.response);
    return run({{"SET", at, record, "PX", ttl}}, options_.write_limit).has_value();
  }

  void wait(Waiting one) {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += one.response->bytes();
    waiting_.push_back(std::move(one));
    while (waiting_bytes_ > options_.waiting_bytes) {
      waiting_bytes_ -= waiting_.front().response->bytes();
      waiting_.pop_front();
      if (!std::exchange(overflows_, true))
        log::warn("responses", "{}: too many responses wait for it; the oldest stay in this router",
                  redis_.name());
    }
  }

  void write_in_turns() {
    for (;;) {
      Waiting next;
      {
        std::unique_lock lock(mutex_);
        if (wake_.wait_for(lock, kRetry, [this] { return stopping_; })) return;
        if (waiting_.empty()) continue;
      }
      while (take(next)) {
        if (write(next)) continue;
        wait(std::move(next));
        break;
      }
    }
  }

  bool take(Waiting& into) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || stopping_) return false;
    into = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= into.response->bytes();
    if (waiting_.empty()) overflows_ = false;
    return true;
  }

  const Options options_;
  stores::Redis redis_;
  const std::string last_byte_;
  upstream::Breaker breaker_;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  bool overflows_ = false, stopping_ = false;
  std::string refusal_;  // the last failure that was logged
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<dialects::SharedResponses> make_redis_responses(Options options) {
  return std::make_unique<RedisResponses>(std::move(options));
}

Result<std::unique_ptr<dialects::SharedResponses>> open(const config::ResponseApi& config) {
  if (!config.enabled || !config.is_shared()) return nullptr;
  auto server = stores::redis_server(config.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  if (!config.redis.key_prefix.empty()) options.prefix = config.redis.key_prefix;
  stores::set_seconds(config.redis.read_timeout, options.read_limit);
  stores::set_seconds(config.redis.write_timeout, options.write_limit);
  return make_redis_responses(std::move(options));
}

}  // namespace signalbox::shared_responses
