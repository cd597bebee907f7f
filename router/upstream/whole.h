#pragma once
// A reply that has to be read whole before any of it can go on.

#include <string>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// The body, from the first byte to the last. Errors: those of UpstreamReply::next(); kUpstream for
/// more than `bytes_max`.
http::Task<Result<std::string>> read_whole(UpstreamReply& answer, size_t bytes_max);

}  // namespace signalbox::upstream
