#pragma once
// The names under which a listener accepts requests. A page of any site can make a browser on this
// machine send requests here: it lets a host name of its own point to 127.0.0.1 (DNS rebinding) and
// could then read the replies. The Host header of such a request contains that name.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Decides whether a request may be handled at all.
using Admits = std::function<bool(const http::Request& request)>;

/// Passes admitted requests to `next` and answers others with 403.
http::Handler only_for(Admits admits, http::Handler next);

}  // namespace signalbox::access
