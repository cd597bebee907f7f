#pragma once
// Reads a reply whole, for callers that cannot pass it on piece by piece.

#include <string>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// Returns the whole body. Errors: those of UpstreamReply::next(); kUpstream if it has more than
/// `bytes_max`.
http::Task<Result<std::string>> read_whole(UpstreamReply& reply, size_t bytes_max);

}  // namespace signalbox::upstream
