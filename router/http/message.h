#pragma once
// HTTP requests and responses as values, and their parsers. Boost.Beast provides the grammar; its
// types stay in parser.cc, so that only that file pays for compiling them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/http/headers.h"
#include "router/http/memory_share.h"

namespace signalbox::config {
struct ClientKey;
}

namespace signalbox::http {

/// Returns the reason phrase of a status, such as "Not Found", or "" for a status that the router
/// never sends itself.
std::string_view status_text(int status);

/// A handler may hold the body, what it remembers of it, and a copy for a server. So a body that
/// has arrived counts this many times towards `bodies_bytes_max`, unless its handler knows better
/// and sets Request::memory.
inline constexpr uint64_t kBodyCopies = 3;

struct Request {
  std::string method;
  std::string target;  // in origin form, "/v1/models?limit=2"; the parser removes scheme and host
  int version = 11;    // 10 or 11
  Headers headers;
  std::string body;
  std::string peer = {};  // the sender's IP address; "": unknown
  /// The key with which the request was sent. Owned by the keys and by their requests. Null: none.
  std::shared_ptr<const config::ClientKey> key = nullptr;
  /// The part of the memory for all bodies that the request has reserved.
  MemoryShare memory = {};

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  /// Returns the query with its question mark, or "".
  std::string_view query() const { return std::string_view(target).substr(path().size()); }
};

struct Response {
  int status = 0;
  Headers headers;
  std::optional<uint64_t>
      content_length;  // nullopt: chunked, or ended by the close of the connection
  std::string body;    // bytes that were read and not yet taken
};

/// Why a request is not read further: the status of the reply, and one line for the client.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Reads one request. It refuses an ambiguous one (two lengths, a length and chunks, a folded line,
/// a bare line end), because another proxy might read it differently.
class RequestParser {
 public:
  RequestParser(Request& into, uint32_t header_bytes_max, uint64_t body_bytes_max);
  ~RequestParser();

  /// Consumes a prefix of `bytes` and returns its length. The caller keeps the rest and calls again
  /// when more bytes have followed. It stops after the header, so that the caller may look at the
  /// header before the body is read.
  tl::expected<size_t, Refusal> feed(std::string_view bytes);
  bool header_done() const;
  bool done() const;

  /// These two are known once header_done().
  bool keep_alive() const;
  bool expects_continue() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads one response: first the header, then the body, which it appends to Response::body as it
/// arrives. A 1xx response counts as a response.
class ResponseParser {
 public:
  ResponseParser(Response& into, uint32_t header_bytes_max);
  ~ResponseParser();

  /// Like RequestParser::feed. Errors: kUpstream with the fault in the bytes.
  Result<size_t> feed(std::string_view bytes);
  /// Call it when the connection has ended. That is fine for a body with neither length nor chunks;
  /// otherwise it is kUpstream.
  Result<void> end();
  bool started() const;  // at least one byte was read
  bool header_done() const;
  bool done() const;
  /// True if the connection may carry another request. Known once done().
  bool keep_alive() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::http
