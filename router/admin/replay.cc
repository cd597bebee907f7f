// A caller that may see the list of requests need not be allowed to see their text: a record with
// its bodies requires a permission of its own.

#include "router/admin/replay.h"

#include "base/json_writer.h"
#include "router/admin/query.h"

namespace signalbox::admin {
namespace {

constexpr std::string_view kReplayPath = "/v1/router_replay";
constexpr size_t kLimitMax = 1000;

AdminReply unavailable(const Error& error) {
  return AdminReply::of({503, "SERVICE_UNAVAILABLE", error.message});
}

AdminReply list(const http::Request& request, observe::Replay& replay) {
  const std::string_view query = request.query();
  const auto limit = query_number(query, "limit", 100, kLimitMax);
  if (!limit) return AdminReply::of(access::failure_of(limit.error()));
  const auto offset = query_number(query, "offset", 0, 1'000'000);
  if (!offset) return AdminReply::of(access::failure_of(offset.error()));
  const std::string decision = query_value(query, "decision");
  const std::string model = query_value(query, "model");
  const std::string user = query_value(query, "user"), key = query_value(query, "key");
  auto found = replay.list_json({*limit, *offset, decision, model, user, key});
  if (!found) return unavailable(found.error());
  return {200, *std::move(found)};
}

AdminReply remove(const http::Request& request, observe::Replay& replay) {
  const std::string_view query = request.query();
  const std::string user = query_value(query, "user"), key = query_value(query, "key");
  if (user.empty() && key.empty() && query_value(query, "all") != "true")
    return AdminReply::of({400, "INVALID_INPUT", "expected user or key, or all=true"});
  const auto count = replay.remove(user, key);
  if (!count) return unavailable(count.error());
  json::Writer out;
  out.begin_object().member("deleted", static_cast<int64_t>(*count));
  std::string subject = "router_replay";
  if (!user.empty()) subject += " of " + user;
  if (!key.empty()) subject += " with the key " + key;
  return {.body = out.end_object().take(), .subject = std::move(subject)};
}

AdminReply one(const http::Request& request, observe::Replay& replay) {
  auto found = replay.find_json(request.path().substr(kReplayPath.size() + 1));
  if (!found) return unavailable(found.error());
  if (!*found)
    return AdminReply::of({404, "NOT_FOUND", "there is no such record, or it has been removed"});
  return {200, **std::move(found)};
}

}  // namespace

std::vector<http::Route> replay_routes(observe::Replay& replay,
                                       const serving::CurrentState& current,
                                       http::ThreadPool& pool) {
  std::vector<http::Route> routes;
  routes.push_back(management_route(
      "GET", std::string(kReplayPath), "replay.read", current, pool,
      [&replay](const http::Request& request, const auto&) { return list(request, replay); }));
  routes.push_back(management_route(
      "GET", std::string(kReplayPath) + "/", access::kReplayDetail, current, pool,
      [&replay](const http::Request& request, const auto&) { return one(request, replay); }));
  routes.push_back(management_route(
      "DELETE", std::string(kReplayPath), access::kDataWrite, current, pool,
      [&replay](const http::Request& request, const auto&) { return remove(request, replay); }));
  return routes;
}

}  // namespace signalbox::admin
