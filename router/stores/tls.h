#pragma once
// TLS over a socket, for servers that we connect to. router/http/stream has the same for the event
// loop; what is here waits.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/stores/socket.h"

namespace signalbox::stores {

/// Files are PEM.
struct TlsFiles {
  std::filesystem::path authorities = {};  // "": those of the system
  std::filesystem::path certificate = {};  // ours, its chain behind it; "": none
  std::filesystem::path key = {};          // of the certificate
  bool verifies = true;                    // false trusts anybody

  bool operator==(const TlsFiles&) const = default;
};

/// What was read of the files, shared by connections. Immutable and thread-safe.
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

/// One thread at a time. Errors: those of the socket; kIo, too, for what the other side should not
/// have sent.
class TlsSession {
 public:
  /// Shakes hands. The server must have a certificate for `host`, a name or an address, signed by
  /// one of the authorities. Errors begin with "no TLS: ".
  static Result<std::unique_ptr<TlsSession>> begin(std::shared_ptr<const Tls> tls, Socket socket,
                                                   const std::string& host, Until until);
  ~TlsSession();

  Result<void> send(std::string_view bytes, Until until);
  /// Waits for some bytes and returns how many; 0: the other side has closed.
  Result<size_t> receive(std::span<char> into, Until until);

 private:
  struct State;
  explicit TlsSession(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace signalbox::stores
