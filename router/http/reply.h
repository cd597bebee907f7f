#pragma once
// The answer to one request: whole, or started and then written piece by piece at the pace of the
// client.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/http/io.h"
#include "router/http/message.h"
#include "router/http/stream.h"

namespace signalbox::http {

/// Belongs to one request on its loop's thread. Framing is its business: Content-Length,
/// Transfer-Encoding, Connection and Date are added here and must not be among the fields given.
/// Every Task yields false when the client has gone; nothing that follows is sent then.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  virtual ~Reply() = default;

  /// A whole reply in one write.
  virtual Task<bool> send(int status, const Headers& fields, std::string_view body) = 0;

  /// Begins a stream. The header waits for flush() or the first write(), to leave together with it.
  /// Without a length the body is chunked, or ended by closing for HTTP/1.0.
  virtual void start(int status, const Headers& fields, std::optional<uint64_t> length) = 0;
  virtual Task<bool> flush() = 0;
  /// Returns when the bytes are taken: a slow client slows the writer. Precondition: start(), and
  /// no `last` before.
  virtual Task<bool> write(std::string_view bytes, bool last) = 0;
  /// A field behind the body, for a client that has asked for those with `TE: trailers`; left out
  /// where the body is not chunked, or another brings it to the client.
  virtual void trail(std::string_view, std::string_view) {}
  /// The rest will not come: the body stays without its end.
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

/// On a connection, which is closed after a reply that has no end.
class SocketReply final : public Reply {
 public:
  SocketReply(Stream& stream, const Request& request, bool keep_alive);

  Task<bool> send(int status, const Headers& fields, std::string_view body) override;
  void start(int status, const Headers& fields, std::optional<uint64_t> length) override;
  Task<bool> flush() override;
  Task<bool> write(std::string_view bytes, bool last) override;
  void trail(std::string_view name, std::string_view value) override;
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
  std::optional<uint64_t> remaining_;  // of an announced length
  std::string head_;
  Headers trailers_;
};

}  // namespace signalbox::http
