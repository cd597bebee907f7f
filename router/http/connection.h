#pragma once
// One client's connection: requests in order, each read whole within its limits, handed to the
// handler, answered.

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "router/config/config.h"
#include "router/http/deadline.h"
#include "router/http/receive_buffer.h"
#include "router/http/server.h"

namespace signalbox::http {

/// How many connections are open, over all loops. Thread-safe.
class ConnectionCounter {
 public:
  uint32_t enter() { return count_.fetch_add(1) + 1; }
  void leave();
  uint32_t count() const { return count_.load(); }
  bool wait_until_empty(std::chrono::milliseconds limit);

 private:
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;
  std::condition_variable empty_;
};

/// What connections of one server share. Outlives them.
struct Shared {
  config::HttpLimits limits;
  ErrorBody error_body;
  ConnectionCounter headcount;
  std::atomic<uint64_t> body_bytes{0};  // of requests that are read or answered
  std::atomic<uint64_t> refused_connections{0};
  std::atomic<uint64_t> refused_bodies{0};
};

/// What connections of one listener share. Outlives them.
struct Site {
  config::Listener listener;
  Handler handler;
  std::shared_ptr<const Tls> tls = nullptr;  // null: plain
};

class Connection;

/// What connections of one loop share; its thread's alone.
struct Population {
  Connection* first = nullptr;
  bool draining = false;
};

/// Owned by its coroutine and by the watch on its socket while that waits.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, Shared& shared, const Site& site, Population& population);
  ~Connection();

  /// Serves until either side is done. `admitted` false: one 503 and the end.
  static Task<> serve(std::shared_ptr<Connection> self, bool admitted);

  /// No further request: idle connections close now, others after their reply.
  void drain();
  Connection* next() const { return next_; }

 private:
  enum class Phase : uint8_t { kIdle, kHeader, kBody, kHandling, kGrace, kLinger };
  enum class Received : uint8_t { kRequest, kRefused, kEnd };

  Task<bool> secure();
  Task<Received> receive();
  Task<Received> refuse(Refusal refusal);
  Task<> handle();
  Task<> linger();
  bool hold(uint64_t bytes);
  void let_go();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void on_deadline();
  void watch();
  void on_readable();

  Stream stream_;
  Shared& shared_;
  const Site& site_;
  Population& population_;
  Connection* previous_ = nullptr;
  Connection* next_ = nullptr;

  Deadline deadline_;
  Phase phase_ = Phase::kIdle;
  bool timed_out_ = false;
  bool keep_alive_ = true;
  bool gone_ = false;
  ReceiveBuffer in_;
  Request request_;
  uint64_t held_ = 0;               // of Shared::body_bytes
  Interrupt* interrupt_ = nullptr;  // of the request that is being handled
  asio::cancellation_signal stop_watch_;
};

}  // namespace signalbox::http
