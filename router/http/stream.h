#pragma once
// The byte stream of a connection: a socket, or TLS over one.

#include <boost/asio/buffer.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/http/io.h"

namespace signalbox::http {

/// Keys and trust, made once and shared by connections. Immutable and thread-safe.
class Tls {
 public:
  /// For clients that connect to us: TLS 1.2 and newer with this certificate (PEM, followed by its
  /// chain). Errors: kIo, kInvalid naming the file.
  static Result<std::shared_ptr<const Tls>> for_server(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key);
  /// For servers that we connect to. The server must present a certificate for its name, signed by
  /// one of `authorities` (PEM; "": the system's). If `verifies` is false, any certificate is
  /// trusted.
  static Result<std::shared_ptr<const Tls>> for_client(const std::filesystem::path& authorities,
                                                       bool verifies);
  ~Tls();

 private:
  friend class Stream;
  struct Context;
  explicit Tls(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

/// Belongs to its loop's thread. One read and one write may run at the same time.
class Stream {
 public:
  explicit Stream(Socket socket);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// For socket options, for waiting, and for closing, which ends pending operations.
  Socket& socket() { return socket_; }
  bool is_secure() const { return tls_ != nullptr; }

  /// Begins TLS, before anything has been read or written. `tls` must outlive the stream.
  Task<ErrorCode> accept(const Tls& tls);
  Task<ErrorCode> connect(const Tls& tls, const std::string& host);
  /// Ends the sending side: no byte may follow.
  Task<> shut_down();

  /// Writes the pieces in order, in as few system calls as the socket allows. The bytes must live
  /// until it is done. Precondition: the socket is non-blocking.
  Task<ErrorCode> write_all(std::string_view first, std::string_view second = {},
                            std::string_view third = {});
  /// Waits until bytes arrive and reads once. Returns asio::error::eof at the end of the stream.
  struct Read {
    ErrorCode error;
    size_t size = 0;
  };
  Task<Read> read(asio::mutable_buffer into);
  /// Reads without waiting; returns would_block if no bytes are there. Precondition: the socket is
  /// non-blocking.
  Read read_now(asio::mutable_buffer into);
  /// Returns whether the peer is known to have closed or reset the connection, although bytes
  /// before that may be unread. A close is not visible yet while bytes before it do not fit into
  /// the systems' buffers.
  bool has_hung_up();

 private:
  struct Secured;
  Socket socket_;
  std::unique_ptr<Secured> tls_;  // null: plain TCP
};

}  // namespace signalbox::http
