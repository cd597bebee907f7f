#pragma once
// Writes an upstream reply to the client as it arrives.

#include <chrono>
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
/// With `keep_alive`, a stream that is silent for that long gets a comment. A stream that has begun
/// already is continued: its status and headers are sent, and `answer` must be a stream, too.
using BrokenStream = std::function<std::string(std::string_view error_body)>;
http::Task<Result<void>> relay(upstream::UpstreamReply& answer, http::Reply& reply,
                               const http::Headers& fields, const BrokenStream* broken = nullptr,
                               std::chrono::milliseconds keep_alive = {});

/// Ends a stream of events that has begun. `sent` are the bytes that were written last. The error
/// is an event of its own, which OpenAI's clients throw as an exception; `error_body` is its body
/// in OpenAI's format. Then the connection closes without the terminating chunk, because proxies,
/// caches and other clients take a body that ends properly for a whole answer.
http::Task<> break_stream(http::Reply& reply, std::string_view sent, const std::string& error_body,
                          const BrokenStream* broken);

/// The error as a client may read it: the names of backends and hosts are the operator's.
Error for_client(Error error);

/// True if the client reads fields behind the body.
bool accepts_trailers(const http::Headers& client);

/// True if a reply with these headers is an event stream without an encoding.
bool is_event_stream(const http::Headers& headers);

/// True if a stream that ends in these bytes is between two events.
bool at_event_boundary(std::string_view tail);

}  // namespace signalbox::gateway
