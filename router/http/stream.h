#pragma once
// The bytes of a connection: a socket, or TLS over one.

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
  /// For those who connect to us: TLS 1.2 and newer with this certificate (PEM, its chain behind
  /// it). Errors: kIo, kInvalid naming the file.
  static Result<std::shared_ptr<const Tls>> for_server(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key);
  /// For servers that we connect to: who is called must have a certificate for its name, signed by
  /// one of `authorities` (PEM; "": those of the system). `verifies` false trusts anybody.
  static Result<std::shared_ptr<const Tls>> for_client(const std::filesystem::path& authorities,
                                                       bool verifies);
  ~Tls();

 private:
  friend class Stream;
  struct Context;
  explicit Tls(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

/// Belongs to its loop's thread; one read and one write at a time, which may be at once.
class Stream {
 public:
  explicit Stream(Socket socket);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// For its options, for waiting and for closing, which ends what is under way.
  Socket& socket() { return socket_; }
  bool is_secure() const { return tls_ != nullptr; }

  /// TLS begins. Nothing has been read or written yet; `tls` outlives the stream.
  Task<ErrorCode> accept(const Tls& tls);
  Task<ErrorCode> connect(const Tls& tls, const std::string& host);
  /// Says goodbye: no byte follows.
  Task<> shut_down();

  /// Writes the pieces, in order, in as few system calls as the socket takes them. The bytes must
  /// live until it is done. Precondition: the socket is non-blocking.
  Task<ErrorCode> write_all(std::string_view first, std::string_view second = {},
                            std::string_view third = {});
  /// Reads once, when some bytes arrive. An end of the stream is asio::error::eof.
  struct Read {
    ErrorCode error;
    size_t size = 0;
  };
  Task<Read> read(asio::mutable_buffer into);
  /// The same without waiting: would_block when there is nothing. Precondition: the socket is
  /// non-blocking.
  Read read_now(asio::mutable_buffer into);

 private:
  struct Secured;
  Socket socket_;
  std::unique_ptr<Secured> tls_;  // null: the socket itself
};

}  // namespace signalbox::http
