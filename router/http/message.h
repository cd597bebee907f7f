#pragma once
// Requests and responses as values, and what reads them off the wire. The grammar is Boost.Beast's;
// its types stay in parser.cc, the one file that pays for compiling it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/http/headers.h"

namespace signalbox::http {

/// The reason phrase of a status: "Not Found"; "" for one that we never make ourselves.
std::string_view status_text(int status);

struct Request {
  std::string method;
  std::string
      target;  // origin form: "/v1/models?limit=2"; an absolute target has lost its scheme and host
  int version = 11;  // 10 or 11
  Headers headers;
  std::string body;

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  /// With its question mark, or "".
  std::string_view query() const { return std::string_view(target).substr(path().size()); }
};

struct Response {
  int status = 0;
  Headers headers;
  std::optional<uint64_t> content_length;  // nothing: chunked, or to the end of the connection
  std::string body;                        // what was read and not yet taken
};

/// Why a request is not read further: the status to answer with, and one line for the client.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Reads one request. What is ambiguous (two lengths, a length and chunks, a folded or bare line)
/// is refused: whoever stands before or behind us might read it the other way.
class RequestParser {
 public:
  RequestParser(Request& into, uint32_t header_bytes_max, uint64_t body_bytes_max);
  ~RequestParser();

  /// Takes what it can use of `bytes` and returns how much that was; the caller keeps the rest and
  /// comes again with more behind it. Stops after the header, so that the caller may look at it
  /// before the body is read.
  tl::expected<size_t, Refusal> feed(std::string_view bytes);
  bool header_done() const;
  bool done() const;

  /// The rest is known once header_done().
  bool keep_alive() const;
  bool expects_continue() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads one response: header first, then the body into Response::body as it comes. 1xx responses
/// are responses here.
class ResponseParser {
 public:
  ResponseParser(Response& into, uint32_t header_bytes_max);
  ~ResponseParser();

  /// Like RequestParser::feed. Errors: kUpstream, saying what is wrong with the bytes.
  Result<size_t> feed(std::string_view bytes);
  /// The connection has ended: fine for a body without length or chunks, kUpstream otherwise.
  Result<void> end();
  bool started() const;  // at least one byte was read
  bool header_done() const;
  bool done() const;
  /// Whether the connection may carry another request. Known once done().
  bool keep_alive() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::http
