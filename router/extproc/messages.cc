// Field numbers are those of envoy/service/ext_proc/v3/external_processor.proto,
// envoy/config/core/v3/base.proto and envoy/extensions/filters/http/ext_proc/v3/
// processing_mode.proto.

#include "router/extproc/messages.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/protobuf.h"

namespace signalbox::extproc {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::Writer;

/// HeaderValueOption.HeaderAppendAction
constexpr uint64_t kAppend = 0;
constexpr uint64_t kOverwrite = 2;
/// ProcessingMode.HeaderSendMode
constexpr uint64_t kSend = 1;

/// Calls `take` with every field of a message and stops at its first error.
template <class Take>
Result<void> each_field(std::string_view message, Take take) {
  Reader reader(message);
  for (;;) {
    SIGNALBOX_TRY(const std::optional<Field> field, reader.next());
    if (!field) return {};
    SIGNALBOX_TRY_VOID(take(*field));
  }
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return ascii::is_alnum(c) || kMarks.find(c) != std::string_view::npos;
  });
}

Result<void> take_header(std::string_view name, std::string_view value, Message& out) {
  if (!name.starts_with(':')) {
    if (!is_token(name)) return fail(Code::kCorrupt, "a header's name is not a token");
    out.headers.add(name, value);
    return {};
  }
  if (name == ":method") out.method = value;
  if (name == ":path") out.path = value;
  if (name == ":authority") out.authority = value;
  if (name == ":status") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), out.status);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (!whole || out.status < 100 || out.status > 999)
      return fail(Code::kCorrupt, "a status is not a number of three digits");
  }
  return {};
}

// HeaderValue: key 1, value 2, raw_value 3. Envoy fills one of the two values.
Result<void> read_header(std::string_view bytes, Message& out) {
  std::string_view name, value;
  SIGNALBOX_TRY_VOID(each_field(bytes, [&](const Field& field) -> Result<void> {
    if (field.number() == 1) {
      SIGNALBOX_TRY(name, field.bytes());
    } else if (field.number() == 2 || field.number() == 3) {
      SIGNALBOX_TRY(const std::string_view found, field.bytes());
      if (!found.empty()) value = found;
      if (!found.empty()) out.raw = field.number() == 3;
    }
    return {};
  }));
  return take_header(name, value, out);
}

// HeaderMap: headers 1.
Result<void> read_headers(std::string_view bytes, Message& out) {
  return each_field(bytes, [&](const Field& field) -> Result<void> {
    if (field.number() != 1) return {};
    SIGNALBOX_TRY(const std::string_view header, field.bytes());
    return read_header(header, out);
  });
}

// HttpHeaders: headers 1, end_of_stream 3. HttpBody: body 1, end_of_stream 2. HttpTrailers:
// trailers 1; only the arrival of trailers matters, not their content.
Result<void> read_part(Part part, std::string_view bytes, Message& out) {
  const bool is_body = part == Part::kRequestBody || part == Part::kResponseBody;
  const bool is_head = part == Part::kRequestHeaders || part == Part::kResponseHeaders;
  out.part = part;
  return each_field(bytes, [&](const Field& field) -> Result<void> {
    if (field.number() == 1 && (is_body || is_head)) {
      SIGNALBOX_TRY(const std::string_view inner, field.bytes());
      if (is_head) return read_headers(inner, out);
      out.body = inner;
    } else if ((is_head && field.number() == 3) || (is_body && field.number() == 2)) {
      SIGNALBOX_TRY(out.last, field.boolean());
    }
    return {};
  });
}

// ProtocolConfiguration: request_body_mode 1, response_body_mode 2.
Result<void> read_modes(std::string_view bytes, Message& out) {
  return each_field(bytes, [&](const Field& field) -> Result<void> {
    if (field.number() != 1 && field.number() != 2) return {};
    SIGNALBOX_TRY(const uint64_t number, field.varint());
    if (number > static_cast<uint64_t>(BodyMode::kFullDuplex))
      return fail(Code::kCorrupt, "unknown body mode {}", number);
    (field.number() == 1 ? out.request_mode : out.response_mode) = static_cast<BodyMode>(number);
    return {};
  });
}

/// Maps a field of ProcessingRequest, whose numbers differ from those of ProcessingResponse.
std::optional<Part> part_of(uint32_t number) {
  switch (number) {
    case 2:
      return Part::kRequestHeaders;
    case 3:
      return Part::kResponseHeaders;
    case 4:
      return Part::kRequestBody;
    case 5:
      return Part::kResponseBody;
    case 6:
      return Part::kRequestTrailers;
    case 7:
      return Part::kResponseTrailers;
    default:
      return std::nullopt;
  }
}

// HeaderMutation: set_headers 1 (HeaderValueOption: header 1 (HeaderValue), append 2 (BoolValue:
// value 1), append_action 3), remove_headers 2. Envoy ignores an append_action of 0, and old
// versions do not know that field at all, so appending is expressed in the old way too.
Writer header_mutation(const Mutation& mutation) {
  Writer out;
  for (const Mutation::Set& set : mutation.set) {
    Writer header, yes, option;
    header.bytes(1, set.name).bytes(mutation.raw ? 3 : 2, set.value);
    option.message(1, header);
    if (set.appends) option.message(2, yes.varint(1, 1));
    out.message(1, option.varint(3, set.appends ? kAppend : kOverwrite));
  }
  for (const std::string& name : mutation.removed) out.bytes(2, name);
  return out;
}

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::kRequestHeaders:
      return "request_headers";
    case Part::kResponseHeaders:
      return "response_headers";
    case Part::kRequestBody:
      return "request_body";
    case Part::kResponseBody:
      return "response_body";
    case Part::kRequestTrailers:
      return "request_trailers";
    case Part::kResponseTrailers:
      return "response_trailers";
  }
  return "";
}

// ProcessingRequest: the parts 2 to 7, observability_mode 10, protocol_config 11.
Result<Message> read_message(std::string_view bytes) {
  Message out;
  bool found = false;
  SIGNALBOX_TRY_VOID(each_field(bytes, [&](const Field& field) -> Result<void> {
    if (const auto part = part_of(field.number())) {
      if (found) return fail(Code::kCorrupt, "a message has two parts");
      found = true;
      SIGNALBOX_TRY(const std::string_view inner, field.bytes());
      return read_part(*part, inner, out);
    }
    if (field.number() == 10) {
      SIGNALBOX_TRY(out.observes, field.boolean());
    } else if (field.number() == 11) {
      SIGNALBOX_TRY(const std::string_view inner, field.bytes());
      return read_modes(inner, out);
    }
    return {};
  }));
  if (!found) return fail(Code::kCorrupt, "a message without a known part");
  return out;
}

// ProcessingResponse: the parts 1 to 6, mode_override 9 (ProcessingMode: response_header_mode 2,
// response_body_mode 4, response_trailer_mode 6; a mode that is not set is off). HeadersResponse
// and BodyResponse: response 1 (CommonResponse: header_mutation 2, body_mutation 3 (BodyMutation:
// body 1, clear_body 2, streamed_response 3 (StreamedBodyResponse: body 1, end_of_stream 2)),
// clear_route_cache 5). TrailersResponse: header_mutation 1.
std::string write(const Continuation& continuation) {
  Writer common, part, out;
  const Writer headers = header_mutation(continuation.headers);
  if (!headers.empty()) common.message(2, headers);
  if (continuation.body) {
    Writer body;
    if (continuation.streams) {
      Writer piece;
      piece.bytes(1, *continuation.body).varint(2, continuation.ends ? 1 : 0);
      body.message(3, piece);
    } else {
      continuation.body->empty() ? body.varint(2, 1) : body.bytes(1, *continuation.body);
    }
    common.message(3, body);
  }
  if (continuation.clears_route) common.varint(5, 1);
  const bool trailers =
      continuation.part == Part::kRequestTrailers || continuation.part == Part::kResponseTrailers;
  if (!trailers) part.message(1, common);
  out.message(static_cast<uint32_t>(continuation.part), part);
  if (continuation.response_mode) {
    Writer mode;
    mode.varint(2, kSend)
        .varint(4, static_cast<uint64_t>(*continuation.response_mode))
        .varint(6, kSend);
    out.message(9, mode);
  }
  return std::move(out).take();
}

// override_message_timeout 10 (Duration: seconds 1, nanos 2).
std::string write_wait(std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const auto nanos = std::chrono::nanoseconds(limit - seconds).count();
  Writer duration, out;
  duration.varint(1, static_cast<uint64_t>(seconds.count()))
      .varint(2, static_cast<uint64_t>(nanos));
  return std::move(out.message(10, duration)).take();
}

// ImmediateResponse 7: status 1 (HttpStatus: code 1), headers 2, body 3.
std::string write_reply(int status, const Mutation& headers, std::string_view body) {
  Writer code, reply, out;
  code.varint(1, static_cast<uint64_t>(status));
  reply.message(1, code).message(2, header_mutation(headers)).bytes(3, body);
  return std::move(out.message(7, reply)).take();
}

}  // namespace signalbox::extproc
