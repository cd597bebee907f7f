// The one file that knows hiredis. A connection that has failed is not used again: what would be
// read from it next belongs to an earlier question.
//
// hiredis limits the time of a single read; here every read has what is left of the limit of the
// whole exchange, so that a server that sends a byte now and then is no exception.

#include "router/remote/redis.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace signalbox::remote {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kIdleMax = 8;
constexpr std::string_view kEntriesAtOnce = "512";

struct CloseContext {
  void operator()(redisContext* context) const { redisFree(context); }
};

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

RedisValue value_of(const redisReply& reply) {
  RedisValue out;
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:  // inside of a list; the first level is run()'s
      out.type = RedisValue::Type::kText;
      out.text = text_of(reply);
      break;
    case REDIS_REPLY_INTEGER:
      out.type = RedisValue::Type::kNumber;
      out.number = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
      out.type = RedisValue::Type::kList;
      for (size_t i = 0; i < reply.elements; ++i) out.items.push_back(value_of(*reply.element[i]));
      break;
    default:
      break;
  }
  return out;
}

/// Null when there is none, or one of another type.
RedisValue* item(RedisValue& list, size_t i, RedisValue::Type type) {
  return i < list.items.size() && list.items[i].type == type ? &list.items[i] : nullptr;
}

}  // namespace

class Redis::Connection {
 public:
  Connection(const std::string& name, redisContext* context) : name_(name), context_(context) {}

  Error broken() const {
    const bool late = context_ != nullptr && context_->err == REDIS_ERR_IO &&
                      (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT);
    if (late) return {Code::kDeadline, fmt::format("{}: no answer in time", name_)};
    return {Code::kIo, fmt::format("{}: {}", name_, context_ ? context_->errstr : "no memory")};
  }
  bool is_well() const { return context_ != nullptr && context_->err == 0; }

  Result<std::vector<RedisValue>> run(std::span<const Command> commands, milliseconds limit) {
    const auto until = Clock::now() + limit;
    for (const Command& command : commands) append(command);
    for (int done = 0; done == 0;) {
      SIGNALBOX_TRY_VOID(leave(until));
      if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return tl::unexpected(broken());
    }
    std::vector<RedisValue> out;
    Result<void> refusal;
    for (const Command& command : commands) {
      SIGNALBOX_TRY(const Reply reply, next(until));
      const auto refused = [&](const redisReply& by) {
        const std::string_view said = text_of(by);
        refusal = fail(Code::kUpstream, "{}: {}: {}", name_, command.front(),
                       said.substr(0, said.find('\n')));
      };
      if (reply->type == REDIS_REPLY_ERROR) {
        if (refusal) refused(*reply);
        continue;
      }
      out.push_back(value_of(*reply));
      // What EXEC has run answers inside of its own answer.
      if (reply->type != REDIS_REPLY_ARRAY || command.front() != "EXEC") continue;
      for (size_t i = 0; i < reply->elements && refusal; ++i) {
        if (reply->element[i]->type == REDIS_REPLY_ERROR) refused(*reply->element[i]);
      }
    }
    if (!refusal) return tl::unexpected(refusal.error());
    return out;
  }

 private:
  void append(const Command& command) {
    std::vector<const char*> begins;
    std::vector<size_t> sizes;
    for (const std::string_view word : command) {
      begins.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(begins.size()), begins.data(),
                           sizes.data());
  }

  Result<void> leave(Clock::time_point until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left <= milliseconds(0)) return fail(Code::kDeadline, "{}: no answer in time", name_);
    if (redisSetTimeout(context_.get(), to_timeval(left)) != REDIS_OK)
      return tl::unexpected(broken());
    return {};
  }

  Result<Reply> next(Clock::time_point until) {
    for (;;) {
      void* reply = nullptr;
      if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK)
        return tl::unexpected(broken());
      if (reply != nullptr) return Reply(static_cast<redisReply*>(reply));
      SIGNALBOX_TRY_VOID(leave(until));
      if (redisBufferRead(context_.get()) != REDIS_OK) return tl::unexpected(broken());
    }
  }

  const std::string& name_;
  const std::unique_ptr<redisContext, CloseContext> context_;
};

Redis::Redis(RedisServer server)
    : server_(std::move(server)), name_(fmt::format("redis {}:{}", server_.host, server_.port)) {}

Redis::~Redis() = default;

Result<std::unique_ptr<Redis::Connection>> Redis::connect() {
  const timeval limit = to_timeval(server_.connect_limit);
  auto out = std::make_unique<Connection>(
      name_, redisConnectWithTimeout(server_.host.c_str(), server_.port, limit));
  if (!out->is_well()) return tl::unexpected(out->broken());
  const std::string db = std::to_string(server_.db);
  std::vector<Command> log_in;
  if (!server_.password.empty() && server_.username.empty())
    log_in.push_back({"AUTH", server_.password});
  if (!server_.password.empty() && !server_.username.empty())
    log_in.push_back({"AUTH", server_.username, server_.password});
  if (server_.db != 0) log_in.push_back({"SELECT", db});
  if (!log_in.empty()) {
    SIGNALBOX_TRY(const auto in, out->run(log_in, server_.connect_limit));
  }
  return out;
}

std::unique_ptr<Redis::Connection> Redis::kept() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

Result<std::vector<RedisValue>> Redis::run_all(std::span<const Command> commands,
                                               milliseconds limit) {
  std::unique_ptr<Connection> to = kept();
  const bool is_kept = to != nullptr;
  if (!is_kept) {
    SIGNALBOX_TRY(to, connect());
  }
  auto out = to->run(commands, limit);
  const bool is_well = out || out.error().code == Code::kUpstream;
  {
    const std::lock_guard lock(mutex_);
    if (is_well && idle_.size() < kIdleMax) idle_.push_back(std::move(to));
    if (!is_well) idle_.clear();  // a server that has gone has closed the others, too
  }
  // It had been closed while nobody used it.
  if (is_kept && !out && out.error().code == Code::kIo) return run_all(commands, limit);
  return out;
}

Result<RedisValue> Redis::run(const Command& command, milliseconds limit) {
  SIGNALBOX_TRY(auto all, run_all({&command, 1}, limit));
  return std::move(all.front());
}

Result<std::vector<std::vector<std::string>>> Redis::follow(std::string_view stream,
                                                            std::string& cursor, milliseconds wait,
                                                            milliseconds limit) {
  using enum RedisValue::Type;
  const std::string blocks = std::to_string(wait.count());
  SIGNALBOX_TRY(RedisValue value,
                run({"XREAD", "COUNT", kEntriesAtOnce, "BLOCK", blocks, "STREAMS", stream, cursor},
                    wait + limit));
  const auto strange = [this] {
    return fail(Code::kIo, "{}: XREAD was answered by something else", name_);
  };
  std::vector<std::vector<std::string>> out;
  if (value.is_nil()) return out;
  // [[stream, [[position, [field, value, ...]], ...]]]
  RedisValue* const only = item(value, 0, kList);
  RedisValue* const all = only == nullptr ? nullptr : item(*only, 1, kList);
  if (all == nullptr) return strange();
  for (RedisValue& one : all->items) {
    const RedisValue* position = item(one, 0, kText);
    RedisValue* const fields = item(one, 1, kList);
    if (position == nullptr || fields == nullptr) return strange();
    cursor = position->text;
    std::vector<std::string>& entry = out.emplace_back();
    for (RedisValue& each : fields->items) entry.push_back(std::move(each.text));
  }
  return out;
}

}  // namespace signalbox::remote
