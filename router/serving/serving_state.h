#pragma once
// What requests run on: everything that one configuration makes, and the place where the newest is.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "router/access/access.h"
#include "router/access/hosts.h"
#include "router/gateway/observer.h"
#include "router/http/server.h"
#include "router/replies/reply_guards.h"
#include "router/routing/router.h"
#include "router/upstream/backends.h"
#include "router/upstream/destinations.h"

namespace signalbox::serving {

/// Immutable once it serves. A request holds the state that it began with until its last byte.
struct ServingState {
  /// The fleet outlives it.
  ServingState(std::unique_ptr<const routing::Router> made, std::string from,
               upstream::Fleet& fleet)
      : router(std::move(made)),
        text(std::move(from)),
        hash(sha256_hex(text)),
        backends(router->config(), fleet),
        destinations(router->config()),
        access(router->config().management),
        hosts(router->config().management),
        shelf(router->models().open) {}

  const config::Config& config() const { return router->config(); }

  const std::unique_ptr<const routing::Router> router;
  const std::string text;  // of the configuration file; "" when there is none
  const std::string hash;  // SHA-256 of the text, in hexadecimal digits
  const upstream::Backends backends;
  const upstream::Destinations destinations;  // for who calls them in our stead
  const access::Access access;                // to the management API
  const access::Hosts hosts;                  // under which it may be asked
  const models::ModelShelf shelf;             // models that no signal needs
  std::unique_ptr<const replies::ReplyGuards> guards;
  std::unique_ptr<gateway::Observer> observer;  // of those requests
  http::Handler handler;                        // of requests on the data plane
  std::vector<std::string> notices;             // what an operator should know, one line each
  std::vector<std::string> unchanged;           // what takes a restart, one line each
  uint64_t generation = 1;
  std::chrono::system_clock::time_point since = std::chrono::system_clock::now();
};

/// The state that new requests get. Thread-safe.
///
/// A state that nobody holds any longer is not freed by whoever let go of it last, an event loop,
/// since unmapping a model can take longer than a request: it waits for free_retired().
class CurrentState {
 public:
  /// Null until the first set().
  std::shared_ptr<const ServingState> get() const;
  void set(std::unique_ptr<const ServingState> next);
  void free_retired();

  /// Runs each request on the state that is the newest as it begins. CurrentState outlives it.
  /// Precondition of a request: there is a state.
  http::Handler handler() const;

 private:
  struct Retired {
    std::mutex mutex;
    std::vector<std::unique_ptr<const ServingState>> states;
  };
  mutable std::mutex mutex_;
  std::shared_ptr<const ServingState> state_;
  // Shared by this and by every state that is held somewhere.
  std::shared_ptr<Retired> retired_ = std::make_shared<Retired>();
};

}  // namespace signalbox::serving
