#pragma once
// TLS over a socket, for servers that we connect to. These functions block; router/http/stream is
// the counterpart for the event loop.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/stores/socket.h"

namespace signalbox::stores {

/// All files are PEM.
struct TlsFiles {
  std::filesystem::path authorities = {};  // "": the system's
  std::filesystem::path certificate = {};  // ours, followed by its chain; "": none
  std::filesystem::path key = {};          // the certificate's key
  bool verifies = true;                    // false: any certificate is trusted

  bool operator==(const TlsFiles&) const = default;
};

/// Keys and trust, read from the files and shared by connections. Immutable and thread-safe.
class Tls {
 public:
  /// TLS 1.2 and newer. Errors: kInvalid naming the file.
  static Result<std::shared_ptr<const Tls>> create(const TlsFiles& files);
  ~Tls();

 private:
  friend class TlsSession;
  struct Context;
  explicit Tls(std::unique_ptr<Context> context);
  const std::unique_ptr<Context> context_;
};

/// One thread at a time. Errors: those of the socket; also kIo if the peer violates the protocol.
class TlsSession {
 public:
  /// Performs the handshake. The server must have a certificate for `host`, a name or an address,
  /// signed by one of the authorities. Errors begin with "the TLS handshake failed: ".
  static Result<std::unique_ptr<TlsSession>> begin(std::shared_ptr<const Tls> tls, Socket socket,
                                                   const std::string& host, Until until);
  ~TlsSession();

  Result<void> send(std::string_view bytes, Until until);
  /// Waits for bytes and returns how many were read; 0: the peer has closed.
  Result<size_t> receive(std::span<char> into, Until until);

 private:
  struct State;
  explicit TlsSession(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace signalbox::stores
