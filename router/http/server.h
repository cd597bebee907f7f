#pragma once
// The HTTP/1.1 server: listeners, one event loop per thread, and connections with limits on
// everything.
//
// One acceptor per listener deals the connections to the loops in turn. SO_REUSEPORT with an
// acceptor per loop was rejected. The kernel spreads by hash, which is uneven for the few long
// connections that clients of language models hold. A second daemon that is started by mistake
// would also share the port instead of failing to bind it.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/config.h"
#include "router/http/interrupt.h"
#include "router/http/reply.h"

namespace signalbox::http {

/// A request and its reply, for the duration of one handler call.
struct Exchange {
  Request& request;
  Reply& reply;
  Interrupt& interrupt;  // raised when the client has gone or the listener's timeout has passed
};

/// Runs on the connection's loop and must not block it. If it returns without a reply, the server
/// sends a 500.
using Handler = std::function<Task<>(Exchange exchange)>;

/// Makes the JSON body of a reply that the server sends by itself (400, 408, 413, 431, 500, 501,
/// 503).
using ErrorBody = std::function<std::string(int status, std::string_view message)>;

/// Thread-safe unless noted otherwise.
class Server {
 public:
  Server(const config::HttpLimits& limits, ErrorBody error_body);
  /// Stops at once and drops the requests in flight.
  ~Server();

  /// Binds and listens; connections are served from start() on. Returns the port, which the system
  /// picks if the configured one is 0. Errors: kInvalid (not an IP address, or no certificate), kIo
  /// ("listener "http" 0.0.0.0:8801: Address already in use"). Not thread-safe; call it only before
  /// start().
  Result<uint16_t> listen(const config::Listener& listener, Handler handler);
  /// Returns the error of kInvalid, or of kIo for a certificate, that listen() would return.
  static Result<void> check(const config::Listener& listener);
  void start();

  /// Closes the listeners and the idle connections and waits at most `limit` for the requests in
  /// flight. Those that remain end as if their time were up. Returns true if there were none.
  bool drain(std::chrono::milliseconds limit);
  /// Ends the threads. No handler runs afterwards.
  void stop();

  size_t threads() const;

  struct Counts {
    uint32_t connections = 0;          // open now
    uint64_t refused_connections = 0;  // since the start, because too many were open
    uint64_t refused_bodies = 0;       // since the start, because bodies took too much memory
    size_t waiting_bodies = 0;         // now, for memory
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::http
