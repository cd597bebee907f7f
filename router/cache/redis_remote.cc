// Implements the commands for answers; stores::Redis manages the connections.

#include "router/cache/redis_remote.h"

#include <algorithm>
#include <utility>

namespace signalbox::cache {
namespace {

using std::chrono::milliseconds;
using stores::RedisValue;
using Command = stores::Redis::Command;

constexpr std::string_view kHeadField = "head", kIdField = "id";

class RedisRemote final : public Remote {
 public:
  explicit RedisRemote(RedisOptions options)
      : options_(std::move(options)),
        redis_(options_.server),
        log_(options_.prefix + "log"),
        log_max_(std::to_string(options_.log_max)) {}

  Result<std::optional<std::string>> get(std::string_view id) override {
    const std::string at = key(id);
    SIGNALBOX_TRY(RedisValue value, redis_.run({"GET", at}, options_.look_up_limit));
    if (value.is_nil()) return std::nullopt;
    if (!value.is_text()) return unexpected_reply("GET");
    return std::move(value.text);
  }

  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds ttl) override {
    const std::string at = key(id);
    const std::string lives = std::to_string(std::max<int64_t>(ttl.count(), 1));
    return write({{"SET", at, bytes, "PX", lives}, log_command(id, head)});
  }

  Result<void> remove(std::span<const std::string> ids) override {
    for (const std::string& id : ids) {
      const std::string at = key(id);
      SIGNALBOX_TRY_VOID(write({{"DEL", at}, log_command(id, "")}));
    }
    return {};
  }

  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds wait) override {
    if (cursor.empty()) cursor = "0-0";
    SIGNALBOX_TRY(auto entries, redis_.follow(log_, cursor, wait, options_.write_limit));
    std::vector<RemoteChange> out;
    for (auto& entry : entries) {
      // kIdField, the id, kHeadField, the head
      if (entry.size() >= 4) out.push_back({std::move(entry[1]), std::move(entry[3])});
    }
    return out;
  }

  const std::string& name() const override { return redis_.name(); }

 private:
  std::string key(std::string_view id) const { return fmt::format("{}{}", options_.prefix, id); }

  tl::unexpected<Error> unexpected_reply(std::string_view command) const {
    return fail(Code::kIo, "{}: unexpected reply to {}", name(), command);
  }
  Command log_command(std::string_view id, std::string_view head) const {
    return {"XADD", log_, "MAXLEN", "~", log_max_, "*", kIdField, id, kHeadField, head};
  }
  /// Runs the commands in order: the log entry is written only after the change itself.
  Result<void> write(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      SIGNALBOX_TRY(const RedisValue done, redis_.run(command, options_.write_limit));
    }
    return {};
  }

  const RedisOptions options_;
  stores::Redis redis_;
  const std::string log_, log_max_;
};

}  // namespace

std::unique_ptr<Remote> make_redis_remote(RedisOptions options) {
  return std::make_unique<RedisRemote>(std::move(options));
}

}  // namespace signalbox::cache
