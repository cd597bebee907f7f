#pragma once
// The answer to one request: whole, or started and then written piece by piece at the pace of the
// client.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/http/io.h"
#include "router/http/message.h"

namespace signalbox::http {

/// Belongs to one request on its loop's thread. Framing is its business: Content-Length,
/// Transfer-Encoding, Connection and Date are added here and must not be among the fields given.
/// Every Task yields false when the client has gone; nothing that follows is sent then.
class Reply {
 public:
  Reply(Socket& socket, const Request& request, bool keep_alive);

  /// A whole reply in one write.
  Task<bool> send(int status, const Headers& fields, std::string_view body);

  /// Begins a stream. The header waits for flush() or the first write(), to leave together with it.
  /// Without a length the body is chunked, or ended by closing for HTTP/1.0.
  void start(int status, const Headers& fields, std::optional<uint64_t> length);
  Task<bool> flush();
  /// Returns when the socket has taken the bytes: a slow client slows the writer. Precondition:
  /// start(), and no `last` before.
  Task<bool> write(std::string_view bytes, bool last);
  /// The rest will not come: the body stays without its end and the connection is closed.
  void abandon();

  bool started() const { return state_ != State::kNothing; }
  bool finished() const { return state_ == State::kFinished; }
  bool broken() const { return state_ == State::kBroken; }  // the client has gone
  bool keep_alive() const { return keep_alive_; }
  /// Closes the connection after this reply. Precondition: not started().
  void close_after() { keep_alive_ = false; }
  int status() const { return status_; }

 private:
  enum class State : uint8_t { kNothing, kPending, kStreaming, kFinished, kAbandoned, kBroken };
  void write_head(int status, const Headers& fields, std::optional<uint64_t> length);
  bool has_body() const;

  Socket& socket_;
  const bool http11_;
  const bool head_only_;
  bool keep_alive_;
  bool chunked_ = false;
  State state_ = State::kNothing;
  int status_ = 0;
  std::optional<uint64_t> remaining_;  // of an announced length
  std::string head_;
};

}  // namespace signalbox::http
