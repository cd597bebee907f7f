#pragma once
// The address of the dashboard for the operator's terminal.

#include <cstdint>
#include <string>

#include "router/access/local_token.h"
#include "router/config/services.h"

namespace signalbox::daemon {

/// Returns the address with the local token, or "" if there is none. The token follows the #, so
/// browsers do not send it.
std::string dashboard_address(const config::ManagementApi& management, uint16_t port,
                              const access::LocalToken& token);

}  // namespace signalbox::daemon
