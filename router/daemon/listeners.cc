// `signalbox config check` and the daemon read the same list, so that both report the same errors.

#include "router/daemon/listeners.h"

#include "router/access/access.h"

namespace signalbox::daemon {

Result<std::vector<OwnListener>> operators_listeners(const config::Config& config) {
  const config::ManagementApi& api = config.management;
  const config::Observability::Metrics& metrics = config.observability.metrics;
  if (api.enabled && !api.remote_exposure && !access::is_loopback(api.bind_address)) {
    return fail(
        Code::kInvalid,
        "{}: global.services.management_api.bind_address: other machines can connect to \"{}\": "
        "set remote_exposure to true, or bind_address to 127.0.0.1",
        config.source, api.bind_address);
  }
  std::vector<OwnListener> out;
  if (metrics.enabled && metrics.port) {
    config::Listener listener;
    listener.name = kMetrics;
    listener.address = metrics.bind_address;
    listener.port = *metrics.port;
    out.push_back({std::move(listener), "global.services.observability.metrics"});
  }
  if (api.enabled) {
    config::Listener listener;
    listener.name = kManagement;
    listener.address = api.bind_address;
    listener.port = api.port;
    listener.tls_cert_path = api.tls_cert_path;
    listener.tls_key_path = api.tls_key_path;
    out.push_back({std::move(listener), "global.services.management_api"});
  }
  return out;
}

std::string section_of_listener(size_t place) {
  return fmt::format("listeners[{}]", place);
}

}  // namespace signalbox::daemon
