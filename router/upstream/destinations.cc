// Draws by weight, like workers/choice: if all weights are 0, each counts as 1.

#include "router/upstream/destinations.h"

#include <boost/asio/ip/address.hpp>

namespace signalbox::upstream {
namespace {

std::string endpoint_of(const config::BackendRef& ref) {
  http::ErrorCode error;
  const auto address = boost::asio::ip::make_address(ref.host, error);
  if (error) return {};
  return address.is_v6() ? fmt::format("[{}]:{}", ref.host, ref.port)
                         : fmt::format("{}:{}", ref.host, ref.port);
}

}  // namespace

Destinations::Destinations(const config::Config& config)
    : identity_(config.authz.identity), requires_key_(config.access.requires_key()) {
  for (const config::Model& model : config.providers.models) {
    std::vector<Destination>& servers = of_model_[model.name];
    for (const config::BackendRef& ref : model.backend_refs) {
      servers.push_back(
          {Outgoing(ref, key_of(ref), config.authz.identity), endpoint_of(ref), ref.weight});
    }
  }
}

const Destination& Destinations::choose(std::string_view model, double draw) const {
  const auto found = of_model_.find(model);
  SIGNALBOX_CHECK(found != of_model_.end() && !found->second.empty());
  const std::vector<Destination>& servers = found->second;
  double all = 0;
  for (const Destination& server : servers) all += server.weight;
  double rest = draw * all;
  for (const Destination& server : servers) {
    rest -= server.weight;
    if (rest < 0) return server;
  }
  return servers.back();
}

}  // namespace signalbox::upstream
