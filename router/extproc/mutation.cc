// Names of few dozen fields are compared one with another.

#include "router/extproc/mutation.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace signalbox::extproc {
namespace {

constexpr std::array<std::string_view, 9> kEnvoys = {
    "connection", "keep-alive", "proxy-connection",  "te",    "trailer",
    "upgrade",    "host",       "transfer-encoding", "expect"};

bool is_envoys(std::string_view name) {
  return ascii::iequals(name, "content-length") ||
         std::any_of(kEnvoys.begin(), kEnvoys.end(),
                     [name](std::string_view other) { return ascii::iequals(name, other); });
}

std::vector<std::string_view> values(const http::Headers& headers, std::string_view name) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (ascii::iequals(headers[i].name, name)) out.push_back(headers[i].value);
  }
  return out;
}

bool is_first(const http::Headers& headers, size_t i) {
  for (size_t before = 0; before < i; ++before) {
    if (ascii::iequals(headers[before].name, headers[i].name)) return false;
  }
  return true;
}

}  // namespace

Mutation difference(const http::Headers& from, const http::Headers& to) {
  Mutation out;
  for (size_t i = 0; i < to.size(); ++i) {
    const std::string_view name = to[i].name;
    if (is_envoys(name) || !is_first(to, i)) continue;
    const auto wanted = values(to, name);
    if (wanted == values(from, name)) continue;
    for (size_t n = 0; n < wanted.size(); ++n)
      out.set.push_back({ascii::lower_case(name), std::string(wanted[n]), n > 0});
  }
  for (size_t i = 0; i < from.size(); ++i) {
    const std::string_view name = from[i].name;
    if (!is_envoys(name) && is_first(from, i) && !to.find(name))
      out.removed.push_back(ascii::lower_case(name));
  }
  return out;
}

}  // namespace signalbox::extproc
