#pragma once
// The HTTP/1.1 server: listeners, one event loop a thread, connections with limits on everything.
//
// One acceptor a listener deals connections to the loops in turn. SO_REUSEPORT with an acceptor a
// loop was rejected: the kernel spreads by hash, which is uneven for the few long connections that
// clients of language models hold, and a second daemon started by mistake would share the port
// instead of being told that it is taken.

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

/// One request and its answer, for the time of a handler's run.
struct Exchange {
  Request& request;
  Reply& reply;
  Interrupt& interrupt;  // the client has gone, or the listener's timeout has passed
};

/// Runs on the connection's loop and must not block it. What it has not answered when it returns is
/// answered with 500.
using Handler = std::function<Task<>(Exchange exchange)>;

/// The body of a reply that the server makes by itself (400, 408, 413, 431, 500, 501, 503), as
/// JSON.
using ErrorBody = std::function<std::string(int status, std::string_view message)>;

/// Thread-safe unless said otherwise.
class Server {
 public:
  Server(const config::HttpLimits& limits, ErrorBody error_body);
  /// Stops at once: requests in flight are dropped.
  ~Server();

  /// Binds and listens; connections are served from start() on. Returns the port, which the system
  /// picks for 0. Errors: kInvalid (not an IP address, no
  /// certificate), kIo ("listener "http" 0.0.0.0:8801: Address
  /// already in use"). Not thread-safe, and only before start().
  Result<uint16_t> listen(const config::Listener& listener, Handler handler);
  void start();

  /// Closes the listeners and the idle connections and waits for requests in flight, at most
  /// `limit`. True when all have finished.
  bool drain(std::chrono::milliseconds limit);
  /// Ends the threads. No handler runs afterwards.
  void stop();

  size_t threads() const;

  struct Counts {
    uint32_t connections = 0;          // open now
    uint64_t refused_connections = 0;  // since the start: too many were open
    uint64_t refused_bodies = 0;       // since the start: bodies took too much memory
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::http
