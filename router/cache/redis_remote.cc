// The one file that knows hiredis. A connection that has failed is not used again: what would be
// read from it next belongs to an earlier question.

#include "router/cache/redis_remote.h"

#include <hiredis/hiredis.h>

#include <cerrno>
#include <mutex>
#include <utility>

namespace signalbox::router::cache {
namespace {

using std::chrono::milliseconds;

constexpr size_t kIdleMax = 8;
constexpr std::string_view kChangesAtOnce = "512";
constexpr std::string_view kHead = "head", kId = "id";

struct CloseContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
using Context = std::unique_ptr<redisContext, CloseContext>;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

timeval to_timeval(milliseconds time) {
  return {time.count() / 1000, static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

std::string_view text_of(const redisReply& reply) {
  return {reply.str, static_cast<size_t>(reply.len)};
}

const redisReply* element(const redisReply& reply, size_t i) {
  return reply.type == REDIS_REPLY_ARRAY && i < reply.elements ? reply.element[i] : nullptr;
}

std::optional<std::string_view> string_at(const redisReply& reply, size_t i) {
  const redisReply* at = element(reply, i);
  if (at == nullptr || at->type != REDIS_REPLY_STRING) return std::nullopt;
  return text_of(*at);
}

class RedisRemote final : public Remote {
 public:
  explicit RedisRemote(RedisOptions options)
      : options_(std::move(options)),
        name_(fmt::format("redis {}:{}", options_.host, options_.port)),
        log_(options_.prefix + "log") {}

  Result<std::optional<std::string>> get(std::string_view id) override {
    SIGNALBOX_TRY(Context context, connection(options_.look_up_limit));
    SIGNALBOX_TRY(const Reply reply, run(*context, {"GET", key(id)}));
    give_back(std::move(context));
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    if (reply->type != REDIS_REPLY_STRING) return strange("GET");
    return std::string(text_of(*reply));
  }

  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds ttl) override {
    SIGNALBOX_TRY(Context context, connection(options_.write_limit));
    const std::string lives = std::to_string(std::max<int64_t>(ttl.count(), 1));
    SIGNALBOX_TRY(const Reply kept, run(*context, {"SET", key(id), bytes, "PX", lives}));
    SIGNALBOX_TRY_VOID(tell(*context, id, head));
    give_back(std::move(context));
    return {};
  }

  Result<void> remove(std::span<const std::string> ids) override {
    SIGNALBOX_TRY(Context context, connection(options_.write_limit));
    for (const std::string& id : ids) {
      SIGNALBOX_TRY(const Reply gone, run(*context, {"DEL", key(id)}));
      SIGNALBOX_TRY_VOID(tell(*context, id, ""));
    }
    give_back(std::move(context));
    return {};
  }

  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds wait) override {
    SIGNALBOX_TRY(Context context, connection(wait + options_.write_limit));
    const std::string since = cursor.empty() ? "0-0" : cursor;
    const std::string blocks = std::to_string(wait.count());
    SIGNALBOX_TRY(const Reply reply, run(*context, {"XREAD", "COUNT", kChangesAtOnce, "BLOCK",
                                                    blocks, "STREAMS", log_, since}));
    give_back(std::move(context));
    std::vector<RemoteChange> out;
    if (reply->type == REDIS_REPLY_NIL) return out;
    // [[stream, [[position, [field, value, ...]], ...]]]
    const redisReply* stream = element(*reply, 0);
    const redisReply* all = stream == nullptr ? nullptr : element(*stream, 1);
    if (all == nullptr) return strange("XREAD");
    for (size_t i = 0; const redisReply* one = element(*all, i); ++i) {
      const auto position = string_at(*one, 0);
      const redisReply* fields = element(*one, 1);
      if (!position || fields == nullptr) return strange("XREAD");
      cursor = *position;
      const auto id = string_at(*fields, 1), head = string_at(*fields, 3);
      if (id && head) out.push_back({std::string(*id), std::string(*head)});
    }
    return out;
  }

  const std::string& name() const override { return name_; }

 private:
  using Words = std::initializer_list<std::string_view>;

  std::string key(std::string_view id) const { return fmt::format("{}{}", options_.prefix, id); }

  tl::unexpected<Error> strange(std::string_view command) const {
    return fail(Code::kIo, "{}: {} was answered by something else", name_, command);
  }
  tl::unexpected<Error> broken(const redisContext* context) const {
    const bool late = context != nullptr && context->err == REDIS_ERR_IO &&
                      (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT);
    if (late) return fail(Code::kDeadline, "{}: no answer in time", name_);
    return fail(Code::kIo, "{}: {}", name_, context == nullptr ? "no memory" : context->errstr);
  }

  Result<Context> connection(milliseconds limit) {
    Context context;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        context = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (context == nullptr) {
      context.reset(redisConnectWithTimeout(options_.host.c_str(), options_.port,
                                            to_timeval(options_.connect_limit)));
      if (context == nullptr || context->err != 0) return broken(context.get());
      redisSetTimeout(context.get(), to_timeval(options_.connect_limit));
      SIGNALBOX_TRY_VOID(log_in(*context));
    }
    if (redisSetTimeout(context.get(), to_timeval(limit)) != REDIS_OK) return broken(context.get());
    return context;
  }

  Result<void> log_in(redisContext& context) const {
    if (!options_.password.empty() && options_.username.empty()) {
      SIGNALBOX_TRY(const Reply in, run(context, {"AUTH", options_.password}));
    } else if (!options_.password.empty()) {
      SIGNALBOX_TRY(const Reply in, run(context, {"AUTH", options_.username, options_.password}));
    }
    if (options_.db != 0) {
      SIGNALBOX_TRY(const Reply chosen, run(context, {"SELECT", std::to_string(options_.db)}));
    }
    return {};
  }

  void give_back(Context context) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(context));
  }

  Result<void> tell(redisContext& context, std::string_view id, std::string_view head) const {
    const std::string most = std::to_string(options_.log_max);
    SIGNALBOX_TRY(const Reply told,
                  run(context, {"XADD", log_, "MAXLEN", "~", most, "*", kId, id, kHead, head}));
    return {};
  }

  // An error of the server is one here.
  Result<Reply> run(redisContext& context, Words words) const {
    std::vector<const char*> begins;
    std::vector<size_t> sizes;
    for (const std::string_view word : words) {
      begins.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(&context, static_cast<int>(begins.size()), begins.data(), sizes.data())));
    if (reply == nullptr) return broken(&context);
    if (reply->type != REDIS_REPLY_ERROR) return reply;
    const std::string_view said = text_of(*reply);
    return fail(Code::kIo, "{}: {}: {}", name_, *words.begin(), said.substr(0, said.find('\n')));
  }

  const RedisOptions options_;
  const std::string name_, log_;
  std::mutex mutex_;
  std::vector<Context> idle_;
};

}  // namespace

std::unique_ptr<Remote> make_redis_remote(RedisOptions options) {
  return std::make_unique<RedisRemote>(std::move(options));
}

}  // namespace signalbox::router::cache
