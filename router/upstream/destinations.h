#pragma once
// The models' servers for a proxy in front of us that calls them itself: what it is to tell them,
// and where one stands. Which server is asked is the proxy's choice; where it leaves that to us one
// is drawn by weight, since what health and load we know of comes from calls of our own.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "router/upstream/outgoing.h"

namespace signalbox::upstream {

struct Destination {
  Outgoing outgoing;
  std::string endpoint;  // "10.0.0.7:8000"; "": its host is a name, which a proxy has to know
  uint32_t weight;
};

/// Immutable and thread-safe.
class Destinations {
 public:
  /// API keys are read from the environment here, once.
  explicit Destinations(const config::Config& config);

  /// One of the model's servers; `draw` in [0, 1). Precondition: the model is one of the
  /// configuration.
  const Destination& choose(std::string_view model, double draw) const;

  /// Whether a client's field goes to none of them (outgoing.h).
  bool withholds(std::string_view name) const { return stays_here(name, identity_); }

 private:
  std::map<std::string, std::vector<Destination>, std::less<>> of_model_;  // none of them empty
  config::Authz::Identity identity_;
};

}  // namespace signalbox::upstream
