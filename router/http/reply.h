#pragma once
// The reply to one request. It is either sent whole, or started and then written piece by piece at
// the client's pace.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/http/io.h"
#include "router/http/message.h"
#include "router/http/stream.h"

namespace signalbox::http {

/// Belongs to one request and its loop's thread. The reply does the framing: it adds
/// Content-Length, Transfer-Encoding, Connection and Date, so the caller's fields must not contain
/// them. Every Task yields false if the client has gone; later writes then send nothing.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  virtual ~Reply() = default;

  /// Sends a whole reply in one write.
  virtual Task<bool> send(int status, const Headers& fields, std::string_view body) = 0;

  /// Begins a stream. The header waits for flush() or the first write(), which sends it together
  /// with the bytes. Without a length the body is chunked; for HTTP/1.0 the close of the connection
  /// ends it.
  virtual void start(int status, const Headers& fields, std::optional<uint64_t> length) = 0;
  virtual Task<bool> flush() = 0;
  /// Returns when the bytes have been taken, so a slow client slows the writer. Preconditions:
  /// start() was called, and no earlier write was `last`.
  virtual Task<bool> write(std::string_view bytes, bool last) = 0;
  /// Adds a trailer field for a client that sent `TE: trailers`. It has no effect if the body is
  /// not chunked, or if a proxy carries the reply to the client.
  virtual void add_trailer(std::string_view, std::string_view) {}
  /// Gives up the rest of the body: the client sees it end early.
  virtual void abandon() = 0;

  bool started() const { return state_ != State::kNothing; }
  bool finished() const { return state_ == State::kFinished; }
  bool broken() const { return state_ == State::kBroken; }  // the client has gone
  int status() const { return status_; }

 protected:
  enum class State : uint8_t { kNothing, kPending, kStreaming, kFinished, kAbandoned, kBroken };
  State state_ = State::kNothing;
  int status_ = 0;
};

/// A reply on a connection, which is closed if the body has no end.
class SocketReply final : public Reply {
 public:
  SocketReply(Stream& stream, const Request& request, bool keep_alive);

  Task<bool> send(int status, const Headers& fields, std::string_view body) override;
  void start(int status, const Headers& fields, std::optional<uint64_t> length) override;
  Task<bool> flush() override;
  Task<bool> write(std::string_view bytes, bool last) override;
  void add_trailer(std::string_view name, std::string_view value) override;
  void abandon() override;

  bool keep_alive() const { return keep_alive_; }

 private:
  void write_head(int status, const Headers& fields, std::optional<uint64_t> length);
  bool has_body() const;

  Stream& stream_;
  const bool http11_;
  const bool head_only_;
  bool keep_alive_;
  bool chunked_ = false;
  std::optional<uint64_t> remaining_;  // bytes left of an announced length
  std::string head_;
  Headers trailers_;
};

}  // namespace signalbox::http
