#pragma once
// The collectors of traces and of metrics that a configuration names, over HTTP or gRPC.

#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/observe/courier.h"

namespace signalbox::collector {

/// Returns the function that sends an export to the collector; null if the file names no collector.
/// Nothing is sent before its first call. Appends a notice for each setting without effect. Errors
/// carry the key's path: kUnsupported for gRPC in a program without it, kIo and kInvalid for a file
/// of authorities.
Result<observe::Send> sender(const config::Observability::Tracing& tracing,
                             std::vector<std::string>& notices);
Result<observe::Send> sender(const config::Observability::Metrics& metrics,
                             std::vector<std::string>& notices);

}  // namespace signalbox::collector
