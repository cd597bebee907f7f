#pragma once
// Envoy's external processing, version 3, as far as it is used: service
// envoy.service.ext_proc.v3.ExternalProcessor, whose one method is a stream of ProcessingRequest
// from Envoy and of ProcessingResponse to it, one of these for one of those.
//
// Read and written field by field (base/protobuf) instead of by generated code: what is used is
// eight messages of the hundreds that Envoy's protocol files import, and bodies of megabytes are
// views until they are kept. Fields that are not known are skipped.

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

/// Of an HTTP request and its response. In the order of ProcessingResponse's fields, from 1.
enum class Part : uint8_t {
  kRequestHeaders = 1,
  kResponseHeaders,
  kRequestBody,
  kResponseBody,
  kRequestTrailers,
  kResponseTrailers,
};
/// "request_headers" and so on.
std::string_view name_of(Part part);

/// How Envoy sends a body, by its numbers.
enum class BodyMode : uint8_t { kNone, kStreamed, kBuffered, kBufferedPartial, kFullDuplex };

/// A ProcessingRequest.
struct Message {
  Part part = Part::kRequestHeaders;
  // Of headers; "" and 0 where Envoy says nothing.
  std::string method, path, authority;
  int status = 0;
  http::Headers headers;  // without pseudo-headers
  bool raw = false;       // values came as raw_value
  std::string body;       // a piece of it, or all
  bool last = false;      // of this direction, but for trailers
  bool observes = false;  // nobody waits for an answer
  // As Envoy is configured; newer ones say it with the first message.
  std::optional<BodyMode> request_mode, response_mode;
};

/// kCorrupt for bytes that are no ProcessingRequest, or one without a part, or with a header whose
/// name is no token.
Result<Message> read_message(std::string_view bytes);

/// What is done to a header.
struct Mutation {
  struct Set {
    std::string name;
    std::string value;
    bool appends = false;  // beside what is there; else in its place
  };
  std::vector<Set> set;
  std::vector<std::string> removed;
  bool raw = true;  // values go out as raw_value; Envoy reads the field that it fills itself
};

/// A ProcessingResponse that lets the exchange go on.
struct Verdict {
  Part part;
  Mutation headers = {};
  std::optional<std::string_view> body = std::nullopt;  // in place of what came; "": nothing is
  bool streams = false;       // FULL_DUPLEX_STREAMED: `body` is one of any number of pieces,
  bool ends = false;          // and the last
  bool clears_route = false;  // Envoy looks for the route again
  std::optional<BodyMode> response_mode = std::nullopt;  // from here on, where Envoy lets us say so
};
std::string write(const Verdict& verdict);

/// A ProcessingResponse that answers the client in a server's stead.
std::string write_reply(int status, const Mutation& headers, std::string_view body);

}  // namespace signalbox::extproc
