#pragma once
// The models' servers as an external proxy needs them: the request header to send, and the address.
// The proxy normally chooses the server itself. If it leaves the choice to us, we draw by weight,
// because we know the health and load of servers only from calls of our own.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "router/upstream/outgoing.h"

namespace signalbox::upstream {

struct Destination {
  Outgoing outgoing;
  std::string endpoint;  // "10.0.0.7:8000"; "": the host is a name, which the proxy must know
  uint32_t weight;
};

/// Immutable and thread-safe.
class Destinations {
 public:
  /// Reads the API keys from the environment once.
  explicit Destinations(const config::Config& config);

  /// Chooses one of the model's servers. `draw` lies in [0, 1). Precondition: the model is in the
  /// configuration.
  const Destination& choose(std::string_view model, double draw) const;

  /// True if this field of a client's request must not reach any server (see stays_here()). A key
  /// of ours is for us alone.
  bool withholds(std::string_view name) const {
    return stays_here(name, identity_) || (requires_key_ && is_credential(name));
  }

 private:
  // Every list has at least one server
  std::map<std::string, std::vector<Destination>, std::less<>> of_model_;
  config::Authz::Identity identity_;
  bool requires_key_;
};

}  // namespace signalbox::upstream
