// The first byte is the size of the pieces in which the rest arrives, as a request and as a
// response whose connection then ends. Pieces and the whole lead to the same message, and limits
// hold.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "router/http/message.h"

namespace {

using namespace signalbox;

constexpr uint32_t kHeaderBytesMax = 512;
constexpr uint64_t kBodyBytesMax = 256;

/// The messages that a parser has read from some bytes.
struct HttpReading {
  bool done = false, failed = false, keeps_alive = false;
  std::string message, rest;
  bool operator==(const HttpReading&) const = default;
};

/// Feeds pieces as a connection does: what a parser does not take comes again with the next one.
template <class Parser>
HttpReading read_pieces(Parser& parser, std::string_view wire, size_t piece) {
  HttpReading out;
  while (!wire.empty() && !parser.done()) {
    out.rest += wire.substr(0, piece);
    wire.remove_prefix(std::min(piece, wire.size()));
    for (bool again = true; again && !parser.done();) {
      const bool had_header = parser.header_done();
      const auto used = parser.feed(out.rest);
      out.failed = !used;
      if (out.failed) return out;
      SIGNALBOX_CHECK(*used <= out.rest.size());
      out.rest.erase(0, *used);
      again = had_header != parser.header_done() && !out.rest.empty();
    }
  }
  out.done = parser.done();
  if (out.done) out.rest += wire;
  return out;
}

HttpReading read_request(std::string_view wire, size_t piece) {
  http::Request request;
  http::RequestParser parser(request, kHeaderBytesMax, kBodyBytesMax);
  HttpReading out = read_pieces(parser, wire, piece);
  SIGNALBOX_CHECK(request.body.size() <= kBodyBytesMax);
  if (!out.done) return out;
  SIGNALBOX_CHECK(request.target.starts_with('/') || request.target == "*");
  SIGNALBOX_CHECK(request.path().size() + request.query().size() == request.target.size());
  out.keeps_alive = parser.keep_alive();
  out.message = request.method + ' ' + request.target + '\n' + std::string(request.headers.wire()) +
                request.body;
  return out;
}

HttpReading read_response(std::string_view wire, size_t piece) {
  http::Response response;
  http::ResponseParser parser(response, kHeaderBytesMax);
  HttpReading out = read_pieces(parser, wire, piece);
  if (!out.done && !out.failed) out.done = parser.end().has_value();
  if (!out.done) return out;
  SIGNALBOX_CHECK(response.status >= 100 && response.status <= 999);
  out.keeps_alive = parser.keep_alive();
  out.message =
      std::to_string(response.status) + '\n' + std::string(response.headers.wire()) + response.body;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view wire(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = 1 + data[0];
  const auto same = [](const HttpReading& a, const HttpReading& b) {
    // A fault within a message that has not ended may be noticed sooner or later.
    SIGNALBOX_CHECK(a.done == b.done && (!a.done || a == b));
  };
  same(read_request(wire, wire.size() + 1), read_request(wire, piece));
  same(read_response(wire, wire.size() + 1), read_response(wire, piece));
  return 0;
}
