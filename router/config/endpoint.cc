// Strict on purpose: an accepted address goes unchanged into a connect call and a Host header.

#include "router/config/endpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

constexpr auto kOwnHeaders = std::to_array<std::string_view>(
    {"connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
     "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
     "x-request-id"});

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return ascii::is_alpha(c) || ascii::is_digit(c) || c == '-' || c == '.' || c == '_';
  });
}

bool is_ipv6(std::string_view host) {
  const bool known = std::all_of(host.begin(), host.end(), [](char c) {
    return ascii::is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
  });
  return known && host.size() <= 45 && std::count(host.begin(), host.end(), ':') >= 2;
}

bool is_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return c > 0x20 && c < 0x7F && c != '?' && c != '#'; });
}

/// The text as a message may show it: a login and the end from "?" or "#" on may be secret.
std::string shown(std::string_view text) {
  std::string out(text);
  if (const size_t login_end = out.rfind('@'); login_end != std::string::npos) {
    const size_t scheme = out.find("://");
    const size_t begin = scheme < login_end ? scheme + 3 : 0;
    out.replace(begin, login_end - begin, "...");
  }
  const size_t end = out.find_first_of("?#");
  if (end != std::string::npos) out.replace(end + 1, std::string::npos, "...");
  return out;
}

Result<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return fail(Code::kInvalid, "expected a port from 1 to 65535, found \"{}\"", shown(text));
  }
  return port;
}

tl::unexpected<Error> with_login() {
  return fail(Code::kInvalid,
              "expected an address without a user name; keys belong into api_key_env");
}

// host, host:port, [v6] or [v6]:port
Result<Endpoint> parse_authority(std::string_view text, bool tls) {
  if (text.find('@') != std::string_view::npos) return with_login();
  Endpoint out;
  out.tls = tls;
  out.port = tls ? 443 : 80;
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) {
      return fail(Code::kInvalid, "expected an IPv6 address in brackets, found \"{}\"",
                  shown(text));
    }
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    if (is_ipv6(text)) {
      return fail(Code::kInvalid, "expected brackets around an IPv6 address, \"[{}]:port\"", text);
    }
    const size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (!is_host(host))
      return fail(Code::kInvalid, "expected host:port, found \"{}\"", shown(text));
  }
  out.host = host;
  if (rest.empty()) return out;
  if (rest.front() != ':')
    return fail(Code::kInvalid, "expected host:port, found \"{}\"", shown(text));
  SIGNALBOX_TRY(out.port, parse_port(rest.substr(1)));
  return out;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, bool tls) {
  if (text.find('/') != std::string_view::npos) {
    return fail(Code::kInvalid, "expected host:port, found \"{}\"; a URL belongs into base_url",
                shown(text));
  }
  return parse_authority(text, tls);
}

Result<Endpoint> parse_base_url(std::string_view text) {
  std::string_view rest = text;
  const bool tls = rest.starts_with("https://");
  if (!tls && !rest.starts_with("http://")) {
    return fail(Code::kInvalid, "expected a URL with http:// or https://, found \"{}\"",
                shown(text));
  }
  rest.remove_prefix(tls ? 8 : 7);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  auto address = parse_authority(rest.substr(0, slash), tls);
  // A slash may be a part of a password.
  if (!address && path.find('@') != std::string_view::npos) return with_login();
  SIGNALBOX_TRY(Endpoint out, std::move(address));
  if (!is_path(path)) {
    return fail(Code::kInvalid,
                "expected a URL without a query, a fragment or spaces, found \"{}\"", shown(text));
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  out.path = path;
  return out;
}

std::string written(std::string_view host, uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool is_host_alone(std::string_view text) {
  return is_host(text) || is_ipv6(text);
}

bool is_own_header(std::string_view name) {
  return std::any_of(kOwnHeaders.begin(), kOwnHeaders.end(),
                     [&](std::string_view own) { return ascii::iequals(own, name); });
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_digit(c) || ascii::is_alpha(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

}  // namespace signalbox::config
