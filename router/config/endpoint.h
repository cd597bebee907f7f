#pragma once
// Addresses of upstream servers, as the file writes them.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::config {

struct Endpoint {
  std::string host;  // a name or an address; IPv6 without its brackets
  uint16_t port = 0;
  bool tls = false;
  std::string path;  // "" or "/api"; no slash at the end
};

/// "host:port" or "[IPv6]:port"; without a port 443 for tls, else 80.
Result<Endpoint> parse_endpoint(std::string_view text, bool tls);

/// "http://host[:port][/path]" or https. User names, queries and fragments are refused.
Result<Endpoint> parse_base_url(std::string_view text);

/// "host:port" or "[IPv6]:port".
std::string written(std::string_view host, uint16_t port);

}  // namespace signalbox::config
