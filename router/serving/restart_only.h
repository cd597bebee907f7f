#pragma once
// What of a configuration takes a restart: sockets that listen, and limits of what is running.

#include <string>
#include <vector>

#include "router/config/config.h"

namespace signalbox::serving {

/// Gives `next` the listeners and limits that `running` has. A line for each that it asked for
/// otherwise: "global.services.http.threads: 4 takes a restart; 2 stays".
std::vector<std::string> keep_fixed(const config::Config& running, config::Config& next);

}  // namespace signalbox::serving
