// Compares the headers through maps by name and not pair by pair, because a server may send
// thousands of fields.

#include "router/extproc/mutation.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/ascii.h"

namespace signalbox::extproc {
namespace {

constexpr std::array<std::string_view, 9> kEnvoyFields = {
    "connection", "keep-alive", "proxy-connection",  "te",    "trailer",
    "upgrade",    "host",       "transfer-encoding", "expect"};

bool is_handled_by_envoy(std::string_view name) {
  return ascii::iequals(name, "content-length") ||
         std::any_of(kEnvoyFields.begin(), kEnvoyFields.end(),
                     [name](std::string_view other) { return ascii::iequals(name, other); });
}

/// The values of each name, in order.
using Values = std::map<std::string, std::vector<std::string_view>>;

Values values_of(const http::Headers& headers) {
  Values out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    if (!is_handled_by_envoy(field.name)) out[ascii::lower_case(field.name)].push_back(field.value);
  }
  return out;
}

}  // namespace

Mutation difference(const http::Headers& from, const http::Headers& to) {
  Mutation out;
  const Values had = values_of(from);
  const Values wanted = values_of(to);
  for (const auto& [name, values] : wanted) {
    const auto before = had.find(name);
    if (before != had.end() && before->second == values) continue;
    for (size_t n = 0; n < values.size(); ++n)
      out.set.push_back({name, std::string(values[n]), n > 0});
  }
  for (const auto& [name, values] : had) {
    if (!wanted.count(name)) out.removed.push_back(name);
  }
  return out;
}

}  // namespace signalbox::extproc
