#pragma once
// Replies of servers that compress although the router accepts no encoding.

#include <memory>
#include <string_view>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// Returns the reply without its gzip or deflate, and any other reply as it is. A piece of the body
/// is at most kDecodedBytes long, so a small body does not take memory without limit.
std::unique_ptr<UpstreamReply> decoded(std::unique_ptr<UpstreamReply> reply);

inline constexpr size_t kDecodedBytes = size_t{64} << 10;

/// kUpstream with the header if the reply has an encoding that decoded() leaves. `consequence`
/// completes the message: "it cannot be translated".
Result<void> check_encoding(const http::Headers& headers, std::string_view consequence);

}  // namespace signalbox::upstream
