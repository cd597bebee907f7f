// What of a header is for whoever sends it: names by their grammar, and those that are the router's
// own.

#include "router/config/headers.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

constexpr auto kOwn = std::to_array<std::string_view>(
    {"connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
     "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
     "x-request-id"});

}  // namespace

bool is_own_header(std::string_view name) {
  return std::any_of(kOwn.begin(), kOwn.end(),
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
