// Hosts are compared as addresses and not as text: ::ffff:127.0.0.1 is a loopback address, and
// "127.0.0.1.evil.example" is none although it begins like one.

#include "router/access/hosts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/ascii.h"
#include "router/access/failure.h"
#include "router/http/io.h"

namespace signalbox::access {
namespace {

using http::asio::ip::address;

/// Returns "localhost" for "localhost:8080" and "::1" for "[::1]:8080".
std::string_view without_port(std::string_view host) {
  if (!host.starts_with('[')) return host.substr(0, host.find(':'));
  const size_t end = host.find(']');
  return end == std::string_view::npos ? "" : host.substr(1, end - 1);
}

std::optional<address> address_of(std::string_view host) {
  http::ErrorCode error;
  const address parsed = http::asio::ip::make_address(std::string(host), error);
  if (error) return std::nullopt;
  if (parsed.is_v6() && parsed.to_v6().is_v4_mapped())
    return http::asio::ip::make_address_v4(http::asio::ip::v4_mapped, parsed.to_v6());
  return parsed;
}

/// Returns true for the origin of an extension or a desktop program, such as vscode-webview://x.
bool is_program(std::string_view origin) {
  return origin.find("://") != std::string_view::npos && !origin.starts_with("http://") &&
         !origin.starts_with("https://") && !origin.starts_with("file://");
}

/// Returns true if a page was read from the host that its request is sent to, and the host is
/// localhost or an IP address.
bool is_own_page(std::string_view origin, std::optional<std::string_view> host) {
  const size_t scheme = origin.find("://");
  if (!host || scheme == std::string_view::npos || origin.substr(scheme + 3) != *host) return false;
  const std::string_view name = without_port(*host);
  return ascii::iequals(name, "localhost") || address_of(name);
}

bool is_json(std::optional<std::string_view> type) {
  constexpr std::string_view kJson = "application/json";
  return type && ascii::iequals(type->substr(0, kJson.size()), kJson);
}

http::Task<> send(http::Exchange exchange, http::Refusal refusal,
                  const http::ErrorBody& error_body) {
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  const std::string body = error_body(refusal.status, refusal.message);
  co_await exchange.reply.send(refusal.status, fields, body);
}

http::Task<> refuse(http::Exchange exchange) {
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  const std::string body = failure_body(
      {403, "FORBIDDEN",
       "the Host header is not a host of this listener: use localhost, its address, or "
       "a name in global.services.management_api.allowed_hosts"});
  co_await exchange.reply.send(403, fields, body);
}

}  // namespace

Hosts::Hosts(const config::ManagementApi& management)
    : accepts_any_(ascii::iequals(management.auth.mode, "bearer")),
      address_(management.bind_address),
      names_(management.allowed_hosts) {}

bool Hosts::admit(std::optional<std::string_view> host) const {
  if (accepts_any_ || !host) return true;
  std::string_view name = without_port(*host);
  if (name.ends_with('.')) name.remove_suffix(1);
  const auto same = [&](std::string_view other) { return ascii::iequals(name, other); };
  if (same("localhost") || same(address_) || std::any_of(names_.begin(), names_.end(), same))
    return true;
  const auto address = address_of(name);
  if (!address) return false;
  const auto own = address_of(address_);
  return address->is_loopback() || (own && (own->is_unspecified() || *own == *address));
}

std::optional<http::Refusal> Origins::refuse(const http::Request& request) const {
  const auto origin = request.headers.find("origin");
  const auto site = request.headers.find("sec-fetch-site");
  const bool is_foreign = site && (*site == "cross-site" || *site == "same-site");
  if (!origin && !is_foreign) return std::nullopt;
  const std::string_view page = origin.value_or("");
  const bool is_allowed = std::any_of(allowed_.begin(), allowed_.end(), [&](const auto& each) {
    return each == "*" || ascii::iequals(each, page);
  });
  if (!is_allowed && !is_program(page) && !is_own_page(page, request.headers.find("host"))) {
    return http::Refusal{403,
                         "this web page may not send requests here; name its origin in "
                         "global.services.http.allowed_origins to allow it"};
  }
  if (request.method != "POST" || is_json(request.headers.find("content-type")))
    return std::nullopt;
  return http::Refusal{415, "expected Content-Type: application/json from a web page"};
}

http::Handler refuse_pages(Origins origins, http::ErrorBody error_body, audit::Log& audit,
                           http::Handler next) {
  struct Guarded {
    Origins origins;
    http::ErrorBody error_body;
    audit::Log& audit;
    http::Handler next;
  };
  // All copies of the std::function share it.
  auto guarded = std::make_shared<const Guarded>(
      Guarded{std::move(origins), std::move(error_body), audit, std::move(next)});
  return [guarded](http::Exchange exchange) {
    auto refusal = guarded->origins.refuse(exchange.request);
    if (refusal && refusal->status == 403)
      guarded->audit.add_refusal({audit::Sender::Kind::kStranger, exchange.request.peer},
                                 std::move(audit::Entry("refused")
                                               .text("reason", "foreign_page")
                                               .number("status", refusal->status)
                                               .text("from", exchange.request.peer)));
    return refusal ? send(exchange, *std::move(refusal), guarded->error_body)
                   : guarded->next(exchange);
  };
}

http::Handler only_for(Admits admits, http::Handler next) {
  struct Guarded {
    Admits admits;
    http::Handler next;
  };
  // All copies of the std::function share it.
  auto guarded = std::make_shared<const Guarded>(Guarded{std::move(admits), std::move(next)});
  return [guarded](http::Exchange exchange) {
    return guarded->admits(exchange.request) ? guarded->next(exchange) : refuse(exchange);
  };
}

}  // namespace signalbox::access
