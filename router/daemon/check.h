#pragma once
// The errors and notices of a start that `signalbox config check` reports, too.

#include <string>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::daemon {

/// Notices about the configuration itself that belong to no part of the daemon.
std::vector<std::string> notices_of(const config::Config& config);

/// Returns the notices that the daemon would report, without those about missing models, or the
/// error with which it would not start. It opens no models, ports or stores and makes no folder, so
/// ports in use and servers that do not answer go unnoticed. If this machine has no keys, neither
/// are certificates of listeners read.
Result<std::vector<std::string>> check(config::Config config, bool has_keys = true);

}  // namespace signalbox::daemon
