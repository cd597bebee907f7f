// The only file that uses hiredis, and only to parse replies. Debian's version has no TLS, and its
// time limits apply to a single read, so a server that sends a byte now and then could block us for
// ever. A connection that has failed is not reused: the next bytes on it would belong to an earlier
// command.

#include "router/stores/redis.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;

constexpr size_t kIdleConnectionsMax = 8;
constexpr size_t kReadBytes = size_t{16} << 10;

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// Writes a command as the protocol requires: the number of words, then each with its length.
void append(const Redis::Command& command, std::string& out) {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", command.size());
  for (const std::string_view word : command) {
    fmt::format_to(std::back_inserter(out), "${}\r\n", word.size());
    out.append(word).append("\r\n");
  }
}

std::string_view text_of(const redisReply& reply) {
  return {reply.str, static_cast<size_t>(reply.len)};
}

RedisValue value_of(const redisReply& reply) {
  RedisValue out;
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:  // nested in a list; run() handles those of the first level
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

/// Returns the first line of a server's message, without the arguments of the command that it
/// repeats: they may be a password.
std::string_view reason_of(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  return message.substr(0, message.find(", with args"));
}

/// Returns whether another server has taken over, or will, behind the same address. Servers before
/// Redis 7 put this word inside the message of a script.
bool has_lost_its_role(std::string_view message) {
  return message.find("READONLY ") != std::string_view::npos || message.starts_with("LOADING ") ||
         message.starts_with("MASTERDOWN ");
}

/// Returns the item, or null if there is none or it has another type.
RedisValue* item(RedisValue& list, size_t i, RedisValue::Type type) {
  return i < list.items.size() && list.items[i].type == type ? &list.items[i] : nullptr;
}

}  // namespace

class Redis::Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const RedisServer& server, Until until) {
    SIGNALBOX_TRY(Socket socket, Socket::connect(server.host, server.port, until));
    auto out = std::make_unique<Connection>();
    if (server.tls == nullptr) {
      out->socket_ = std::move(socket);
    } else {
      SIGNALBOX_TRY(out->tls_,
                    TlsSession::begin(server.tls, std::move(socket), server.host, until));
    }
    return out;
  }

  Result<std::vector<RedisValue>> run(std::span<const Command> commands, Until until) {
    std::string bytes;
    for (const Command& command : commands) append(command, bytes);
    SIGNALBOX_TRY_VOID(send(bytes, until));
    std::vector<RedisValue> out;
    Result<void> refusal;
    for (const Command& command : commands) {
      SIGNALBOX_TRY(const Reply reply, next(until));
      const auto record_refusal = [&](const redisReply& by) {
        const std::string_view message = text_of(by);
        refusal = fail(Code::kUpstream, "{}: {}", command.front(), reason_of(message));
        if (has_lost_its_role(message)) is_usable_ = false;
      };
      if (reply->type == REDIS_REPLY_ERROR) {
        if (refusal) record_refusal(*reply);
        continue;
      }
      out.push_back(value_of(*reply));
      // EXEC returns the replies of the commands that it ran inside its own reply.
      if (reply->type != REDIS_REPLY_ARRAY || command.front() != "EXEC") continue;
      for (size_t i = 0; i < reply->elements && refusal; ++i) {
        if (reply->element[i]->type == REDIS_REPLY_ERROR) record_refusal(*reply->element[i]);
      }
    }
    if (!refusal) return tl::unexpected(refusal.error());
    return out;
  }
  /// False if the server has lost its role: a new connection may reach the one that has it now.
  bool is_usable() const { return is_usable_; }

 private:
  Result<void> send(std::string_view bytes, Until until) {
    return tls_ ? tls_->send(bytes, until) : socket_->send(bytes, until);
  }
  Result<size_t> receive(std::span<char> into, Until until) {
    return tls_ ? tls_->receive(into, until) : socket_->receive(into, until);
  }

  Result<Reply> next(Until until) {
    for (;;) {
      void* reply = nullptr;
      if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
        return fail(Code::kIo, "{}", reader_->errstr);
      if (reply != nullptr) return Reply(static_cast<redisReply*>(reply));
      std::array<char, kReadBytes> piece;
      SIGNALBOX_TRY(const size_t size, receive(piece, until));
      if (size == 0) return fail(Code::kIo, "the peer has closed the connection");
      if (redisReaderFeed(reader_.get(), piece.data(), size) != REDIS_OK)
        return fail(Code::kIo, "{}", reader_->errstr);
    }
  }

  std::optional<Socket> socket_;
  std::unique_ptr<TlsSession> tls_;  // used instead of socket_
  bool is_usable_ = true;
  const std::unique_ptr<redisReader, FreeReader> reader_{redisReaderCreate()};
};

Redis::Redis(RedisServer server)
    : server_(std::move(server)), name_(fmt::format("redis {}:{}", server_.host, server_.port)) {}

Redis::~Redis() = default;

Result<std::unique_ptr<Redis::Connection>> Redis::connect() {
  const Until until = Until::clock::now() + server_.connect_limit;
  SIGNALBOX_TRY(auto out, Connection::open(server_, until));
  const std::string db = std::to_string(server_.db);
  std::vector<Command> log_in;
  if (!server_.password.empty() && server_.username.empty())
    log_in.push_back({"AUTH", server_.password});
  if (!server_.password.empty() && !server_.username.empty())
    log_in.push_back({"AUTH", server_.username, server_.password});
  if (server_.db != 0) log_in.push_back({"SELECT", db});
  if (!log_in.empty()) {
    SIGNALBOX_TRY(const auto in, out->run(log_in, until));
  }
  ++connections_;
  return out;
}

std::unique_ptr<Redis::Connection> Redis::take_idle() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

Result<std::vector<RedisValue>> Redis::run_all(std::span<const Command> commands,
                                               milliseconds limit) {
  Until::duration left = limit;  // for both attempts
  std::unique_ptr<Connection> to = take_idle();
  for (;;) {
    const bool is_kept = to != nullptr;
    if (!is_kept) {
      auto connected = connect();
      if (!connected) return fail_in(name_, std::move(connected).error());
      to = *std::move(connected);
    }
    const Until began = Until::clock::now();
    auto out = to->run(commands, began + left);
    const bool is_usable = out || (out.error().code == Code::kUpstream && to->is_usable());
    {
      const std::lock_guard lock(mutex_);
      if (is_usable && idle_.size() < kIdleConnectionsMax) idle_.push_back(std::move(to));
      if (!is_usable) idle_.clear();  // a server that has gone has closed its other connections too
    }
    if (out) return out;
    // The connection had been closed while it was idle.
    const bool is_repeated = is_kept && out.error().code == Code::kIo;
    if (!is_repeated) return fail_in(name_, std::move(out).error());
    to = nullptr;
    left -= Until::clock::now() - began;
  }
}

Result<RedisValue> Redis::run(const Command& command, milliseconds limit) {
  SIGNALBOX_TRY(auto all, run_all({&command, 1}, limit));
  return std::move(all.front());
}

Result<std::vector<std::vector<std::string>>> Redis::follow(std::string_view stream,
                                                            std::string& cursor, milliseconds wait,
                                                            milliseconds limit) {
  using enum RedisValue::Type;
  const std::string blocks = std::to_string(wait.count()), count = std::to_string(kEntriesMax);
  SIGNALBOX_TRY(
      RedisValue value,
      run({"XREAD", "COUNT", count, "BLOCK", blocks, "STREAMS", stream, cursor}, wait + limit));
  const auto unexpected = [this] {
    return fail(Code::kIo, "{}: XREAD returned an unexpected reply", name_);
  };
  std::vector<std::vector<std::string>> out;
  if (value.is_nil()) return out;
  // [[stream, [[position, [field, value, ...]], ...]]]
  RedisValue* const only = item(value, 0, kList);
  RedisValue* const all = only == nullptr ? nullptr : item(*only, 1, kList);
  if (all == nullptr) return unexpected();
  for (RedisValue& one : all->items) {
    const RedisValue* position = item(one, 0, kText);
    RedisValue* const fields = item(one, 1, kList);
    if (position == nullptr || fields == nullptr) return unexpected();
    cursor = position->text;
    std::vector<std::string>& entry = out.emplace_back();
    for (RedisValue& each : fields->items) entry.push_back(std::move(each.text));
  }
  return out;
}

}  // namespace signalbox::stores
