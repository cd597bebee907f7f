#pragma once
// An upstream's reply becomes the client's, as it arrives.

#include <functional>
#include <string>

#include "base/error.h"
#include "router/http/reply.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// Passes on status, end-to-end headers and body; each read is one write, nothing is held back.
/// `fields` go out in addition and win over headers of the same name. Errors, for the log, after
/// the client has been told as well as can be: kCancelled (it has gone), and what
/// UpstreamReply::next() gives. What tells the client of one in the middle of a stream is `broken`,
/// events made from the body of an error; without it OpenAI's.
using BrokenStream = std::function<std::string(std::string_view error_body)>;
http::Task<Result<void>> relay(upstream::UpstreamReply& answer, http::Reply& reply,
                               const http::Headers& fields, const BrokenStream* broken = nullptr);

/// Whether a reply with these headers is an event stream that can be read as it is.
bool is_event_stream(const http::Headers& headers);

/// Whether an event stream that has ended in these bytes stands between two events.
bool at_event_boundary(std::string_view tail);

}  // namespace signalbox::gateway
