#pragma once
// Calls to a server over gRPC, one request and one reply each. Messages are bytes, so there is no
// generated code. A program that is built without gRPC has client_absent.cc instead.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::rpc {

struct Server {
  std::string host;  // a name or an address; IPv6 without its brackets
  uint16_t port = 0;
  bool tls = false;
  /// PEM file of authorities for its certificate; "": the system's. gRPC takes a file without
  /// certificates and then trusts nobody, so callers check it before.
  std::string tls_ca_path = {};
  /// Sent with every call. Precondition: each name is a header's name and is not one of gRPC's own,
  /// and each value is printable ASCII.
  std::map<std::string, std::string> metadata = {};
};

/// The numbers of https://grpc.github.io/grpc/core/md_doc_statuscodes.html.
struct Reply {
  int status = 0;
  std::string message;  // the server's or the library's; "" for status 0
  std::string details;  // a google.rpc.Status as bytes, or ""
  std::string body;
};

/// Makes gRPC look up names by the system, as the rest of the program does, unless the environment
/// chooses otherwise. Debian's c-ares loses some bytes of memory at each look-up of `localhost`.
/// Call it before any other thread starts, because it sets a variable of the environment.
void use_system_resolver();

/// Connects at the first call, and again after a failure. Not thread-safe: one thread at a time.
class Client {
 public:
  /// Errors: kIo for the file of authorities, with its name; kUnsupported in a program without
  /// gRPC.
  static Result<std::unique_ptr<Client>> create(Server server);
  ~Client();

  /// `method` is a path, "/package.Service/Method". `limit` bounds the whole call.
  Reply call(const std::string& method, std::string_view body, std::chrono::milliseconds limit);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::rpc
