#pragma once
// The gRPC server that Envoy calls: external processing, and health checks by grpc.health.v1 for
// the server as a whole ("") and for the service. It runs without TLS, for an Envoy on the same
// host or in a mesh, or with TLS and, if configured, with client certificates.

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "router/config/config.h"
#include "router/extproc/session.h"

namespace signalbox::extproc {

/// Thread-safe.
class Server {
 public:
  /// The server is running when this returns. The handlers that `find` returns run on the server's
  /// own event loops, one per thread; `limits` gives their number. Errors: kIo if the address
  /// cannot be bound; kInvalid for an invalid TLS file, with its name.
  static Result<std::unique_ptr<Server>> start(const config::ExtProc& settings,
                                               const config::HttpLimits& limits,
                                               http::ErrorBody error_body, FindHost find);
  /// Calls stop().
  ~Server();

  uint16_t port() const;
  /// Reports that it is not serving, accepts no more requests, waits at most `limit` for those in
  /// flight and drops the rest. Returns true if none was dropped.
  bool drain(std::chrono::milliseconds limit);
  /// Drops the requests in flight and ends the threads. Nothing runs afterwards.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::extproc
