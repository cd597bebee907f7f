// Who may see that requests came need not be let see what they said: a record with its bodies asks
// for a permission of its own.

#include "router/api/replay.h"

#include <charconv>

namespace signalbox::api {
namespace {

constexpr std::string_view kPath = "/v1/router_replay";
constexpr size_t kLimitMax = 1000;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// "a%20b+c" as "a b c".
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (escape) {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

/// The value of "name=value" in "?a=b&name=value"; "" without one.
std::string parameter(std::string_view query, std::string_view name) {
  if (query.starts_with('?')) query.remove_prefix(1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name)
      return decoded(pair.substr(equals + 1));
  }
  return "";
}

Result<size_t> number(std::string_view query, std::string_view name, size_t without, size_t most) {
  const std::string text = parameter(query, name);
  if (text.empty()) return without;
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most)
    return fail(Code::kInvalid, "{}: expected a number from 0 to {}", name, most);
  return value;
}

Answer list(const http::Request& request, observe::Replay& replay) {
  const std::string_view query = request.query();
  const auto limit = number(query, "limit", 100, kLimitMax);
  if (!limit) return Answer::of(failure_of(limit.error()));
  const auto offset = number(query, "offset", 0, 1'000'000);
  if (!offset) return Answer::of(failure_of(offset.error()));
  const std::string decision = parameter(query, "decision");
  const std::string model = parameter(query, "model");
  return {200, replay.list_json({*limit, *offset, decision, model})};
}

Answer one(const http::Request& request, observe::Replay& replay) {
  auto found = replay.find_json(request.path().substr(kPath.size() + 1));
  if (!found) return Answer::of({404, "NOT_FOUND", "there is no such record, or not any more"});
  return {200, *std::move(found)};
}

}  // namespace

std::vector<Route> replay_routes(observe::Replay& replay, const router::Live& live, Compute& pool) {
  std::vector<Route> routes;
  routes.push_back(management_route(
      "GET", std::string(kPath), "replay.read", live, pool,
      [&replay](const http::Request& request, const auto&) { return list(request, replay); }));
  routes.push_back(management_route(
      "GET", std::string(kPath) + "/", "replay.detail", live, pool,
      [&replay](const http::Request& request, const auto&) { return one(request, replay); }));
  return routes;
}

}  // namespace signalbox::api
