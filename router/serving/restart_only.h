#pragma once
// The settings that only a restart can change: listening sockets, and limits of running parts.

#include <string>
#include <vector>

#include "router/config/config.h"

namespace signalbox::serving {

/// Copies the listeners and limits of `running` into `next`. Returns one line for each setting that
/// differed: "global.services.http.threads: 4 requires a restart; 2 stays".
std::vector<std::string> keep_restart_only(const config::Config& running, config::Config& next);

}  // namespace signalbox::serving
