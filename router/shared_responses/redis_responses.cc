// A deletion writes its entry of the stream in the same step, so that no router misses it.

#include "router/shared_responses/redis_responses.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "router/shared_responses/record.h"
#include "router/stores/deletions.h"

namespace signalbox::shared_responses {
namespace {

using std::chrono::milliseconds;
using stores::NamedDeletion;
using Command = stores::Redis::Command;
using Values = std::vector<stores::RedisValue>;

const std::string kDeletionsMax = std::to_string(stores::Deletions::kMax);
/// The stream expires if no router deletes anything for this long.
constexpr std::string_view kStreamSeconds = "5184000";

class RedisResponses final : public ResponseServer {
 public:
  explicit RedisResponses(RedisOptions options)
      : options_(std::move(options)),
        limits_{options_.server.connect_limit, options_.read_limit, options_.write_limit},
        stream_(options_.prefix + "deleted"),
        redis_(options_.server) {}

  const std::string& name() const override { return redis_.name(); }
  const ExchangeLimits& limits() const override { return limits_; }
  Result<std::optional<std::string>> read(std::string_view id, bool is_here,
                                          size_t bytes_max) override;
  Result<void> write(std::string_view id, std::string_view record, milliseconds left) override;
  Result<milliseconds> left(std::string_view id) override;
  Result<void> remove(std::span<const NamedDeletion> deletions) override;
  std::string key_of(std::string_view id) const override { return key_of("r:", id); }
  std::unique_ptr<stores::Feed> feed() override {
    return stores::make_redis_feed(options_.server, stream_);
  }

 private:
  std::string key_of(std::string_view kind, std::string_view id) const {
    return options_.prefix + std::string(kind) + std::string(id);
  }

  const RedisOptions options_;
  const ExchangeLimits limits_;
  const std::string stream_;
  stores::Redis redis_;
};

Result<std::optional<std::string>> RedisResponses::read(std::string_view id, bool is_here,
                                                        size_t bytes_max) {
  const std::string at = key_of("r:", id), removed_at = key_of("d:", id);
  const std::string first = std::to_string(kFirstBytes), last = std::to_string(kFirstBytes - 1);
  std::vector<Command> commands{{"EXISTS", removed_at}};
  if (!is_here) {
    commands.push_back({"STRLEN", at});
    commands.push_back({"GETRANGE", at, "0", last});
  }
  SIGNALBOX_TRY(Values values, redis_.run_all(commands, limits_.read));
  if (values[0].number != 0) return std::nullopt;
  if (is_here) return std::string();
  const auto size = static_cast<size_t>(values[1].number);
  std::string record = std::move(values[2].text);
  if (size > bytes_max) return too_large();
  if (size <= record.size() || size > kRecordBytesMax) return record;
  const std::string end = std::to_string(size - 1);
  const milliseconds limit = limits_.read + time_for(size);
  SIGNALBOX_TRY(const auto rest, redis_.run({"GETRANGE", at, first, end}, limit));
  if (rest.text.empty()) return rest.text;  // it has expired or was removed
  return record + rest.text;
}

Result<void> RedisResponses::write(std::string_view id, std::string_view record,
                                   milliseconds left) {
  const std::string at = key_of("r:", id), ttl = std::to_string(left.count());
  const milliseconds limit = limits_.write + time_for(record.size());
  SIGNALBOX_TRY_VOID(redis_.run({"SET", at, record, "PX", ttl}, limit));
  return {};
}

Result<milliseconds> RedisResponses::left(std::string_view id) {
  const std::string at = key_of("r:", id);
  SIGNALBOX_TRY(const auto left, redis_.run({"PTTL", at}, limits_.read));
  return milliseconds(left.number);
}

Result<void> RedisResponses::remove(std::span<const NamedDeletion> deletions) {
  std::deque<std::string> words;
  const auto word = [&words](std::string text) -> std::string_view {
    return words.emplace_back(std::move(text));
  };
  const int64_t now = stores::now_ms();
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
  SIGNALBOX_TRY_VOID(redis_.run_all(commands, limits_.write));
  return {};
}

}  // namespace

std::unique_ptr<ResponseServer> make_redis_responses(RedisOptions options) {
  return std::make_unique<RedisResponses>(std::move(options));
}

}  // namespace signalbox::shared_responses
