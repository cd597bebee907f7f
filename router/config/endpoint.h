#pragma once
// Addresses of upstream servers and header fields of requests to them, as the file writes them.

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

/// Writes "host:port" or "[IPv6]:port".
std::string written(std::string_view host, uint16_t port);

/// True for a name or an address of a host; IPv6 without its brackets.
bool is_host_alone(std::string_view text);

/// True for a token of RFC 9110.
bool is_header_name(std::string_view name);
/// True for a header that the router sets itself in the requests that it sends; any case.
bool is_own_header(std::string_view name);
/// True for one line without control characters.
bool is_header_value(std::string_view value);

}  // namespace signalbox::config
