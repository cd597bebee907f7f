#pragma once
// Writes an upstream reply to the client as it arrives.

#include <functional>
#include <string>

#include "base/error.h"
#include "router/http/reply.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// Writes status, end-to-end headers and body; each read is one write, and nothing is held back.
/// `fields` are added and replace headers of the same name. An error in the middle of a stream
/// reaches the client as events, which `broken` makes from the body of the error; without it they
/// are OpenAI's. The error is also returned for the log: kCancelled if the client has gone, or that
/// of UpstreamReply::next().
using BrokenStream = std::function<std::string(std::string_view error_body)>;
http::Task<Result<void>> relay(upstream::UpstreamReply& answer, http::Reply& reply,
                               const http::Headers& fields, const BrokenStream* broken = nullptr);

/// True if a reply with these headers is an event stream without an encoding.
bool is_event_stream(const http::Headers& headers);

/// True if a stream that ends in these bytes is between two events.
bool at_event_boundary(std::string_view tail);

}  // namespace signalbox::gateway
