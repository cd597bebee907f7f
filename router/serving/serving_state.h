#pragma once
// Everything that one configuration makes for requests, and the holder of the newest such state.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "router/access/access.h"
#include "router/access/clients.h"
#include "router/access/hosts.h"
#include "router/audit/log.h"
#include "router/gateway/gateway_context.h"
#include "router/gateway/observer.h"
#include "router/http/server.h"
#include "router/replies/reply_guards.h"
#include "router/routing/router.h"
#include "router/upstream/backends.h"
#include "router/upstream/destinations.h"

namespace signalbox::serving {

/// Immutable once it serves. A request keeps the state that it began with until its last byte.
struct ServingState {
  /// `fleet` and `log` must outlive it.
  ServingState(std::unique_ptr<const routing::Router> made, std::string from,
               upstream::Fleet& fleet, std::unique_ptr<access::Clients> known,
               const std::filesystem::path& file, audit::Log& log)
      : audit(log),
        clients(std::move(known)),
        router(std::move(made)),
        text(std::move(from)),
        hash(sha256_hex(text)),
        backends(router->config(), fleet),
        destinations(router->config()),
        access(router->config().management, file),
        hosts(router->config().management),
        shelf(router->models().open) {}

  const config::Config& config() const { return router->config(); }

  audit::Log& audit;
  const std::unique_ptr<access::Clients> clients;  // of the data listeners
  const std::unique_ptr<const routing::Router> router;
  const std::string text;  // of the configuration file; "": no file
  const std::string hash;  // SHA-256 of the text, in hexadecimal digits
  const upstream::Backends backends;
  const upstream::Destinations destinations;  // for a proxy that calls the servers itself
  const access::Access access;                // to the management API
  const access::Hosts hosts;                  // that the management API accepts
  const models::ModelShelf shelf;             // models that no signal needs
  std::unique_ptr<const replies::ReplyGuards> guards;
  std::unique_ptr<gateway::Observer> observer;  // of this state's requests
  std::unique_ptr<gateway::ShadowUse> shadows;  // null: no decision sends shadows
  http::Handler handler;                        // of the data plane
  std::vector<std::string> notices;             // for the operator, one line each
  std::vector<std::string> unchanged;           // settings that require a restart, one line each
  /// Points to this state while requests use it, for work that outlives its request.
  mutable std::weak_ptr<const ServingState> self;
  uint64_t generation = 1;
  std::chrono::system_clock::time_point since = std::chrono::system_clock::now();
};

/// The state for new requests. Thread-safe.
///
/// The last holder of an old state is often an event loop. It does not free the state, because
/// unmapping a model can take longer than a request. The state waits for free_retired().
class CurrentState {
 public:
  /// Null until the first set().
  std::shared_ptr<const ServingState> get() const;
  void set(std::unique_ptr<const ServingState> next);
  void free_retired();

  /// Runs each request on the state that is the newest when the request begins. CurrentState must
  /// outlive the handler. Precondition of a request: there is a state.
  http::Handler handler() const;

 private:
  struct Retired {
    std::mutex mutex;
    std::vector<std::unique_ptr<const ServingState>> states;
  };
  mutable std::mutex mutex_;
  std::shared_ptr<const ServingState> state_;
  // Owned by this object and by every state that is in use.
  std::shared_ptr<Retired> retired_ = std::make_shared<Retired>();
};

}  // namespace signalbox::serving
