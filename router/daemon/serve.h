#pragma once
// The daemon: listeners, event loops, the router and its upstreams, put together and taken apart in
// the right order.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/routing/router.h"

namespace signalbox::daemon {

/// The file that a configuration was read from, which the daemon follows from then on.
struct Origin {
  std::filesystem::path file = {};  // "": there is none, and the configuration stays
  std::string text = {};            // what was read
};

/// Thread-safe after start().
class Daemon {
 public:
  /// Returns when every listener takes requests; /ready of the management listener says so from
  /// then on, and /health earlier. Errors: those of Router::create and `open`, kIo for a port that
  /// is taken.
  static Result<std::unique_ptr<Daemon>> start(config::Config config, models::OpenModels open,
                                               Origin origin = {});
  /// Drops requests in flight; drain() first to let them finish.
  ~Daemon();

  /// "http 0.0.0.0:8801" for every listener, the management one last, with the ports that were
  /// bound.
  const std::vector<std::string>& listening() const;
  /// What an operator should know, one line each.
  const std::vector<std::string>& notices() const;
  /// The bound port of a listener by its name, 0 when there is none; "management" is the management
  /// API, "ext_proc" what Envoy talks to.
  uint16_t port(std::string_view listener) const;

  /// Reads the file again, changed or not, and returns before that is done: the log and GET
  /// /config/status say what became of it. Nothing happens without a file.
  void reload();

  /// No new requests; waits for those in flight, at most the configuration's drain_timeout. False
  /// when some were left.
  bool drain();

 private:
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::daemon
