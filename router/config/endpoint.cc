// Strict on purpose: an accepted address goes unchanged into a connect call and a Host header.

#include "router/config/endpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "router/config/sections.h"

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

// True for a header that the router sets or takes from the client's request: its trace and accepted
// encodings.
bool is_of_request(std::string_view name) {
  return is_own_header(name) || ascii::iequals(name, "traceparent") ||
         ascii::iequals(name, "tracestate") || ascii::iequals(name, "accept-encoding");
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

void check_headers(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  const auto check = [&](std::string_view key, const auto& body) {
    reader.at_key(key, [&] { body(node.find(key)->line); });
  };
  const auto check_name = [&](uint32_t line, std::string_view name) {
    if (!is_header_name(name))
      reader.error(line, fmt::format("expected the name of a header, found \"{}\"", name));
    else if (is_of_request(name))
      reader.error(line, fmt::format("the router sets \"{}\" itself", name));
  };
  constexpr std::string_view kOneLine = "expected one line without control characters";
  if (node.find("auth_header") != nullptr)
    check("auth_header", [&](uint32_t line) { check_name(line, ref.auth_header); });
  if (!is_header_value(ref.auth_prefix))
    check("auth_prefix", [&](uint32_t line) { reader.error(line, std::string(kOneLine)); });
  if (!is_header_value(ref.api_key))
    check("api_key", [&](uint32_t line) { reader.error(line, std::string(kOneLine)); });
  if (ref.extra_headers.empty()) return;
  const bool has_key = !ref.api_key.empty() || !ref.api_key_env.empty();
  check("extra_headers", [&](uint32_t line) {
    for (const auto& [name, value] : ref.extra_headers) {
      check_name(line, name);
      if (has_key && ascii::iequals(name, ref.auth_header))
        reader.error(line, fmt::format("\"{}\" carries the key already", name));
      const auto twin = std::find_if(
          ref.extra_headers.begin(), ref.extra_headers.end(),
          [&name = name](const auto& other) { return ascii::iequals(other.first, name); });
      if (twin->first != name)
        reader.error(line, fmt::format("\"{}\" and \"{}\" are one header", twin->first, name));
      if (!is_header_value(value)) reader.error(line, fmt::format("{}: {}", name, kOneLine));
    }
  });
}

void check_target(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  const auto only = [](std::string_view text, std::string_view others) {
    return std::all_of(text.begin(), text.end(), [others](char c) {
      return ascii::is_digit(c) || ascii::is_alpha(c) || others.find(c) != std::string_view::npos;
    });
  };
  if (!ref.chat_path.empty() &&
      (ref.chat_path[0] != '/' || !only(ref.chat_path, "/-._~%!$&'()*+,;=:@"))) {
    reader.at_key("chat_path", [&] {
      reader.error(
          node.find("chat_path")->line,
          fmt::format("expected a path that begins with \"/\", found \"{}\"", ref.chat_path));
    });
  }
  if (!only(ref.api_version, "-._~")) {
    reader.at_key("api_version", [&] {
      reader.error(
          node.find("api_version")->line,
          fmt::format("expected letters, digits, -, . and _, found \"{}\"", ref.api_version));
    });
  }
}

void check_backend_names(Reader& reader, const yaml::Node& backends, const Model& model) {
  std::set<std::string_view> seen;
  const size_t count = std::min(model.backend_refs.size(), backends.items.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = model.backend_refs[i].name;
    if (name.empty() || seen.insert(name).second) continue;
    reader.at_key(fmt::format("backend_refs[{}].name", i), [&] {
      reader.notice(backends.items[i].line,
                    fmt::format("\"{}\" is the name of another backend of this model, so logs and "
                                "metrics do not distinguish them",
                                name));
    });
  }
}

}  // namespace signalbox::config
