#pragma once
// The collectors of traces and of metrics that a configuration names, over HTTP or gRPC.

#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/observe/courier.h"

namespace signalbox::collector {

/// The function by which exports reach the collector; null if there is none. Nothing is sent before
/// its first call.
/// Appends a notice for what the file names and the router does not do. Errors: for a collector
/// that this program cannot reach, with the key's path: kUnsupported without gRPC, kIo and kInvalid
/// for a file of authorities.
Result<observe::Send> sender(const config::Observability::Tracing& tracing,
                             std::vector<std::string>& notices);
Result<observe::Send> sender(const config::Observability::Metrics& metrics,
                             std::vector<std::string>& notices);

}  // namespace signalbox::collector
