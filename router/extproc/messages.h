#pragma once
// The messages of Envoy's external processing, version 3, as far as we use them. The service
// envoy.service.ext_proc.v3.ExternalProcessor has one method: a stream of ProcessingRequest
// messages from Envoy and of ProcessingResponse messages to it, one response per request.
//
// The messages are read and written field by field (base/protobuf) and not by generated code: we
// use eight of the hundreds of messages that Envoy's protocol files import, and bodies of megabytes
// stay views until they are kept. Unknown fields are skipped.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/http/headers.h"

namespace signalbox::extproc {

inline constexpr std::string_view kService = "envoy.service.ext_proc.v3.ExternalProcessor";
inline constexpr std::string_view kMethod = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";

/// A part of an HTTP request or response, in the order of ProcessingResponse's fields, from 1.
enum class Part : uint8_t {
  kRequestHeaders = 1,
  kResponseHeaders,
  kRequestBody,
  kResponseBody,
  kRequestTrailers,
  kResponseTrailers,
};
/// Returns "request_headers" and so on.
std::string_view name_of(Part part);

/// How Envoy sends a body; the values are Envoy's numbers.
enum class BodyMode : uint8_t { kNone, kStreamed, kBuffered, kBufferedPartial, kFullDuplex };

/// A ProcessingRequest.
struct Message {
  Part part = Part::kRequestHeaders;
  // From the headers; "" or 0 if Envoy does not send them.
  std::string method, path, authority;
  int status = 0;
  http::Headers headers;  // without pseudo-headers
  bool raw = false;       // the values came as raw_value
  std::string body;       // one piece, or the whole body
  bool last = false;      // the last message of its direction, except for trailers
  bool observes = false;  // Envoy does not wait for an answer
  // Envoy's configuration, which newer versions send with the first message.
  std::optional<BodyMode> request_mode, response_mode;
};

/// Errors: kCorrupt for bytes that are not a ProcessingRequest, for one without a part, and for a
/// header whose name is not a token.
Result<Message> read_message(std::string_view bytes);

/// Changes of a header.
struct Mutation {
  struct Set {
    std::string name;
    std::string value;
    bool appends = false;  // added to the existing values; else replaces them
  };
  std::vector<Set> set;
  std::vector<std::string> removed;
  bool raw = true;  // values are sent as raw_value; Envoy reads the field that it fills itself
};

/// A ProcessingResponse that lets the exchange continue.
struct Continuation {
  Part part;
  Mutation headers = {};
  std::optional<std::string_view> body = std::nullopt;  // replaces Envoy's body; "": removes it
  bool streams = false;       // FULL_DUPLEX_STREAMED: `body` is one of several pieces
  bool ends = false;          // and the last one
  bool clears_route = false;  // Envoy chooses the route again
  // From now on, if Envoy allows the override
  std::optional<BodyMode> response_mode = std::nullopt;
};
std::string write(const Continuation& continuation);

/// Writes a ProcessingResponse that lets Envoy wait for `limit` for the answer to its last message.
/// Envoy accepts one for each message, and only if its max_message_timeout is not shorter.
std::string write_wait(std::chrono::milliseconds limit);

/// Writes a ProcessingResponse that replies to the client in place of a server.
std::string write_reply(int status, const Mutation& headers, std::string_view body);

}  // namespace signalbox::extproc
