#pragma once
// The gRPC server that Envoy talks to: external processing, and health by grpc.health.v1 for the
// server as a whole ("") and for the service. In the clear, for an Envoy beside it or a mesh
// between them, or over TLS, with certificates of Envoy's where they are asked for.

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
  /// Serves when it returns. What `find` makes runs on the server's own event loops, one a thread,
  /// as many as `limits` says. kIo: the address cannot be had; kInvalid: a
  /// file of TLS, by its name.
  static Result<std::unique_ptr<Server>> start(const config::ExtProc& settings,
                                               const config::HttpLimits& limits,
                                               http::ErrorBody error_body, FindDesk find);
  /// stop().
  ~Server();

  uint16_t port() const;
  /// Says that it is not serving, takes no more requests and waits for those in flight, at most
  /// `limit`; what is left is dropped. True when nothing was.
  bool drain(std::chrono::milliseconds limit);
  /// Drops what is in flight and ends the threads. Nothing runs afterwards.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::extproc
