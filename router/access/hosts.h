#pragma once
// The names under which a listener accepts requests. A page of any site can make a browser on this
// machine send requests here: it lets a host name of its own point to 127.0.0.1 (DNS rebinding) and
// could then read the replies. The Host header of such a request contains that name.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/audit/log.h"
#include "router/config/config.h"
#include "router/http/server.h"

namespace signalbox::access {

/// Immutable and thread-safe.
class Hosts {
 public:
  explicit Hosts(const config::ManagementApi& management);

  /// `host` is the Host header, with or without a port. Returns true for localhost and loopback
  /// addresses; for the listener's address, or any address if it listens on all; for the names in
  /// `allowed_hosts`; and for a missing Host header, which HTTP/1.0 allows and no browser sends. If
  /// tokens are required (auth.mode bearer), every host is accepted, because a foreign page has no
  /// token.
  bool admit(std::optional<std::string_view> host) const;

 private:
  bool accepts_any_;
  std::string address_;
  std::vector<std::string> names_;
};

/// The web pages whose scripts may send requests to the listeners for clients. Programs send no
/// Origin. A page of any site can send requests to an address that only its reader's machine
/// reaches.
class Origins {
 public:
  explicit Origins(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {}

  /// Returns why a request is refused, or nullopt. A request with an Origin must come from an
  /// allowed origin, or from a page under the Host that it is sent to, if that is localhost or an
  /// IP address; a name could lead anywhere. Its body must be JSON, because pages may send other
  /// types without permission. Origins of other schemes than http(s) are those of programs.
  std::optional<http::Refusal> refuse(const http::Request& request) const;

 private:
  std::vector<std::string> allowed_;
};

/// Passes requests to `next` unless they are refused, which the audit log notes. `audit` outlives
/// the handler.
http::Handler refuse_pages(Origins origins, http::ErrorBody error_body, audit::Log& audit,
                           http::Handler next);

/// Decides whether a request may be handled at all.
using Admits = std::function<bool(const http::Request& request)>;

/// Passes admitted requests to `next` and answers others with 403.
http::Handler only_for(Admits admits, http::Handler next);

}  // namespace signalbox::access
