#pragma once
// Under which names a listener may be asked. A page of any site can make a browser on this machine
// send requests here, under a name of its own that it lets point to 127.0.0.1 (DNS rebinding), and
// read the answers; the Host header then bears that name.

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

  /// `host` is the header of that name, with a port or without. True for localhost and loopback
  /// addresses; for the address that is listened on, any address where that is all of them; for
  /// the names of `allowed_hosts`; and for no Host at all, which HTTP/1.0 allows and no browser
  /// sends. Where a token is asked for (auth.mode bearer) any host does: a page has none.
  bool admit(std::optional<std::string_view> host) const;

 private:
  bool any_;
  std::string address_;
  std::vector<std::string> names_;
};

/// Whether a request may be answered, whatever it asks.
using Admits = std::function<bool(const http::Request& request)>;

/// `next` for requests that are admitted, 403 for others.
http::Handler only_for(Admits admits, http::Handler next);

}  // namespace signalbox::access
