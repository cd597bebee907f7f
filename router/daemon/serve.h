#pragma once
// Builds the daemon from its listeners, event loops, router and upstreams, and takes it apart in
// the right order.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/routing/router.h"

namespace signalbox::daemon {

/// The file that a configuration was read from. The daemon watches it from then on.
struct Origin {
  std::filesystem::path file = {};        // "": no file; the configuration never changes
  std::string text = {};                  // the text that was read
  std::vector<std::string> notices = {};  // those of its reading
};

/// Thread-safe after start().
class Daemon {
 public:
  /// Returns once every listener accepts requests. From then on /ready of the management listener
  /// reports success; /health does so earlier. Errors: those of Router::create and `open`, kIo for
  /// a port that is in use.
  static Result<std::unique_ptr<Daemon>> start(config::Config config, models::OpenModels open,
                                               Origin origin = {});
  /// Drops requests in flight; call drain() first to let them finish.
  ~Daemon();

  /// Returns "http 0.0.0.0:8801" for every listener with the port that was bound, the management
  /// one first.
  const std::vector<std::string>& listening() const;
  /// Startup notices for the operator, one line each.
  const std::vector<std::string>& notices() const;
  /// Returns the address of the dashboard with the local token, or "" if there is none. It is for
  /// the operator's terminal and must not be logged.
  std::string dashboard() const;
  /// Returns the bound port of a listener by its name, or 0 if there is none. "management" is the
  /// management API, "ext_proc" the listener for Envoy.
  uint16_t port(std::string_view listener) const;

  /// Reads the file again, changed or not, and returns before that is done. The log and GET
  /// /config/status report the outcome. Does nothing without a file.
  void reload();

  /// Accepts no new requests and waits for those in flight, at most the configuration's
  /// drain_timeout. Returns false if some were left.
  bool drain();

 private:
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::daemon
