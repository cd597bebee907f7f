// Commands for answers; the connections are remote/redis's business.

#include "router/cache/redis_remote.h"

#include <algorithm>
#include <utility>

namespace signalbox::router::cache {
namespace {

using remote::RedisValue;
using std::chrono::milliseconds;
using Command = remote::Redis::Command;

constexpr std::string_view kChangesAtOnce = "512";
constexpr std::string_view kHead = "head", kId = "id";

/// Null when there is none, or another type.
const RedisValue* item(const RedisValue& list, size_t i, RedisValue::Type type) {
  return i < list.items.size() && list.items[i].type == type ? &list.items[i] : nullptr;
}

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
    if (!value.is_text()) return strange("GET");
    return std::move(value.text);
  }

  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds ttl) override {
    const std::string at = key(id);
    const std::string lives = std::to_string(std::max<int64_t>(ttl.count(), 1));
    return write({{"SET", at, bytes, "PX", lives}, telling(id, head)});
  }

  Result<void> remove(std::span<const std::string> ids) override {
    for (const std::string& id : ids) {
      const std::string at = key(id);
      SIGNALBOX_TRY_VOID(write({{"DEL", at}, telling(id, "")}));
    }
    return {};
  }

  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds wait) override {
    const std::string since = cursor.empty() ? "0-0" : cursor;
    const std::string blocks = std::to_string(wait.count());
    SIGNALBOX_TRY(const RedisValue value, redis_.run({"XREAD", "COUNT", kChangesAtOnce, "BLOCK",
                                                      blocks, "STREAMS", log_, since},
                                                     wait + options_.write_limit));
    std::vector<RemoteChange> out;
    if (value.is_nil()) return out;
    // [[stream, [[position, [field, value, ...]], ...]]]
    const RedisValue* stream = item(value, 0, RedisValue::Type::kList);
    const RedisValue* all = stream ? item(*stream, 1, RedisValue::Type::kList) : nullptr;
    if (all == nullptr) return strange("XREAD");
    for (const RedisValue& one : all->items) {
      const RedisValue* position = item(one, 0, RedisValue::Type::kText);
      const RedisValue* fields = item(one, 1, RedisValue::Type::kList);
      if (position == nullptr || fields == nullptr) return strange("XREAD");
      cursor = position->text;
      const RedisValue* id = item(*fields, 1, RedisValue::Type::kText);
      const RedisValue* head = item(*fields, 3, RedisValue::Type::kText);
      if (id != nullptr && head != nullptr) out.push_back({id->text, head->text});
    }
    return out;
  }

  const std::string& name() const override { return redis_.name(); }

 private:
  std::string key(std::string_view id) const { return fmt::format("{}{}", options_.prefix, id); }

  tl::unexpected<Error> strange(std::string_view command) const {
    return fail(Code::kIo, "{}: {} was answered by something else", name(), command);
  }
  Command telling(std::string_view id, std::string_view head) const {
    return {"XADD", log_, "MAXLEN", "~", log_max_, "*", kId, id, kHead, head};
  }
  /// What is told has been done: the second only after the first.
  Result<void> write(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      SIGNALBOX_TRY(const RedisValue done, redis_.run(command, options_.write_limit));
    }
    return {};
  }

  const RedisOptions options_;
  remote::Redis redis_;
  const std::string log_, log_max_;
};

}  // namespace

std::unique_ptr<Remote> make_redis_remote(RedisOptions options) {
  return std::make_unique<RedisRemote>(std::move(options));
}

}  // namespace signalbox::router::cache
