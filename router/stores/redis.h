#pragma once
// Redis, or what speaks its protocol (Valkey): commands over kept connections, each exchange within
// a time limit, whatever pieces the answer comes in.

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
  std::chrono::milliseconds connect_limit{200};  // to connect, shake hands and log in
  std::shared_ptr<const Tls> tls = {};           // null: in the clear
};

/// What a command was answered.
struct RedisValue {
  enum class Type : uint8_t { kNil, kText, kNumber, kList };
  Type type = Type::kNil;
  std::string text = {};  // of kText; a status such as "OK" is one
  int64_t number = 0;
  std::vector<RedisValue> items = {};

  bool is_nil() const { return type == Type::kNil; }
  bool is_text() const { return type == Type::kText; }
  bool is_number() const { return type == Type::kNumber; }
  bool is_list() const { return type == Type::kList; }
};

/// Thread-safe; calls block. Connects when it is first asked. Errors: kIo (refused, broken),
/// kDeadline, kUpstream (the server understood, and said no). After one the next call begins anew.
/// A command whose kept connection turns out to be closed is sent once more: commands are such as
/// may be repeated.
class Redis {
 public:
  using Command = std::vector<std::string_view>;

  explicit Redis(RedisServer server);
  ~Redis();

  Result<RedisValue> run(const Command& command, std::chrono::milliseconds limit);
  /// Sent together, answered together: between MULTI and EXEC also done together. An error if one
  /// of the answers is.
  Result<std::vector<RedisValue>> run_all(std::span<const Command> commands,
                                          std::chrono::milliseconds limit);

  /// The entries of a stream behind `cursor` ("0-0": all), oldest first, each as its fields and
  /// values in turn; moves the cursor. Waits for one to come, at most `wait`, which is not part of
  /// `limit`.
  Result<std::vector<std::vector<std::string>>> follow(std::string_view stream, std::string& cursor,
                                                       std::chrono::milliseconds wait,
                                                       std::chrono::milliseconds limit);

  /// For log lines: "redis 127.0.0.1:6379".
  const std::string& name() const { return name_; }

 private:
  class Connection;
  Result<std::unique_ptr<Connection>> connect();
  std::unique_ptr<Connection> kept();

  const RedisServer server_;
  const std::string name_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace signalbox::stores
