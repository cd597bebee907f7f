// A listener with a local token is on loopback, where ::1 is the only address in brackets.

#include "router/daemon/dashboard_address.h"

#include <fmt/core.h>

namespace signalbox::daemon {

std::string dashboard_address(const config::ManagementApi& management, uint16_t port,
                              const access::LocalToken& token) {
  if (token.secret.empty()) return {};
  return fmt::format("http{}://{}:{}/#token={}", management.tls_cert_path.empty() ? "" : "s",
                     management.bind_address == "::1" ? "[::1]" : management.bind_address, port,
                     token.secret);
}

}  // namespace signalbox::daemon
