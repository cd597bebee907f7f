#pragma once
// One client's connection. It takes requests in order: each is read whole within the limits, passed
// to the handler, and answered.

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "router/config/config.h"
#include "router/http/deadline.h"
#include "router/http/receive_buffer.h"
#include "router/http/server.h"

namespace signalbox::http {

/// Counts the open connections of all loops. Thread-safe.
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

/// Counts the open connections of each address. Thread-safe.
class AddressCounter {
 public:
  /// Returns the number of connections from the address, this one included.
  uint32_t enter(const std::string& address);
  void leave(const std::string& address);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t> counts_;
};

/// State that the connections of one server share. It outlives them.
struct ServerState {
  config::HttpLimits limits;
  ErrorBody error_body;
  ConnectionCounter open_connections;
  AddressCounter addresses;
  MemoryBound memory{limits.bodies_bytes_max};  // of the requests that are being read or handled
  std::atomic<uint64_t> refused_connections{0};
};

/// State that the connections of one listener share. It outlives them.
struct ListenerState {
  config::Listener listener;
  Handler handler;
  std::shared_ptr<const Tls> tls = nullptr;  // null: plain TCP
};

class Connection;

/// The connections of one loop. Only that loop's thread uses it.
struct LoopConnections {
  Connection* first = nullptr;
  bool draining = false;
};

/// Owned by its coroutine, and by the pending wait on its socket.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `address` is the client's, and already counted.
  Connection(Socket socket, std::string address, ServerState& shared, const ListenerState& state,
             LoopConnections& connections);
  ~Connection();

  /// Serves requests until either side closes. If `admitted` is false, it sends one 503 and closes.
  static Task<> serve(std::shared_ptr<Connection> self, bool admitted);

  /// Accepts no further request: an idle connection closes now, any other one after its reply.
  void drain();
  /// Ends a request that is being handled as if its time were up; the client gets the error.
  /// `limit` describes that time.
  void expire(std::string limit);
  Connection* next() const { return next_; }

 private:
  enum class Phase : uint8_t { kIdle, kHeader, kBody, kHandling, kGrace, kLinger };
  enum class Received : uint8_t { kRequest, kRefused, kEnd };

  Task<bool> accept_tls();
  Task<Received> receive();
  Task<std::optional<Received>> wait_for_room(uint64_t bytes);
  Task<Received> refuse(Refusal refusal);
  Task<> handle();
  Task<> linger();
  uint64_t bytes_to_read() const;
  void free_body();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void on_deadline();
  void watch_socket();
  void on_readable();

  Stream stream_;
  const std::string address_;
  ServerState& shared_;
  const ListenerState& listener_state_;
  LoopConnections& connections_;
  Connection* previous_ = nullptr;
  Connection* next_ = nullptr;

  Deadline deadline_;
  Deadline watch_;  // begins to watch the socket
  Phase phase_ = Phase::kIdle;
  bool timed_out_ = false;
  bool keep_alive_ = true;
  bool gone_ = false;
  ReceiveBuffer in_;
  Request request_;
  std::shared_ptr<Timer> room_;     // while the body waits for memory
  Interrupt* interrupt_ = nullptr;  // of the request being handled
  asio::cancellation_signal stop_watch_;
};

}  // namespace signalbox::http
