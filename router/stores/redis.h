#pragma once
// A client for Redis and servers with the same protocol (Valkey). It sends commands over kept
// connections. Each exchange has a time limit, in however many pieces the reply arrives.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/stores/tls.h"

namespace signalbox::stores {

struct RedisServer {
  std::string host = {};
  uint16_t port = 6379;
  std::string username = {}, password = {};  // "": none
  uint32_t db = 0;
  std::chrono::milliseconds connect_limit{
      200};                             // to connect, complete the TLS handshake and log in
  std::shared_ptr<const Tls> tls = {};  // null: no TLS
};

/// The reply to a command.
struct RedisValue {
  enum class Type : uint8_t { kNil, kText, kNumber, kList };
  Type type = Type::kNil;
  std::string text = {};  // for kText, which includes a status such as "OK"
  int64_t number = 0;
  std::vector<RedisValue> items = {};

  bool is_nil() const { return type == Type::kNil; }
  bool is_text() const { return type == Type::kText; }
  bool is_number() const { return type == Type::kNumber; }
  bool is_list() const { return type == Type::kList; }
};

/// Thread-safe; calls block. Connects at the first call. Errors: kIo (refused, broken), kDeadline,
/// kUpstream (the server returned an error). After an error the next call begins anew. If a kept
/// connection turns out to be closed, the command is sent once more, so all commands must be
/// repeatable.
class Redis {
 public:
  using Command = std::vector<std::string_view>;
  /// The most entries that follow() returns.
  static constexpr size_t kEntriesMax = 512;

  explicit Redis(RedisServer server);
  ~Redis();

  Result<RedisValue> run(const Command& command, std::chrono::milliseconds limit);
  /// Sends the commands together and returns their replies; between MULTI and EXEC they also run
  /// together. Returns an error if one of the replies is an error.
  Result<std::vector<RedisValue>> run_all(std::span<const Command> commands,
                                          std::chrono::milliseconds limit);

  /// Returns the entries of a stream after `cursor` ("0-0": all), oldest first, and moves the
  /// cursor. Each entry lists its fields and values in turn. Waits at most `wait` for an entry;
  /// that time does not count towards `limit`.
  Result<std::vector<std::vector<std::string>>> follow(std::string_view stream, std::string& cursor,
                                                       std::chrono::milliseconds wait,
                                                       std::chrono::milliseconds limit);

  /// For log lines: "redis 127.0.0.1:6379".
  const std::string& name() const { return name_; }
  /// The number of connections made so far. A server that was restarted makes it grow.
  uint64_t connections() const { return connections_; }

 private:
  class Connection;
  Result<std::unique_ptr<Connection>> connect();
  std::unique_ptr<Connection> take_idle();

  const RedisServer server_;
  const std::string name_;
  std::atomic<uint64_t> connections_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace signalbox::stores
