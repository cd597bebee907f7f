// A caller that may see the list of requests need not be allowed to see their text: a record with
// its bodies requires a permission of its own.

#include "router/admin/replay.h"

#include "router/admin/query.h"

namespace signalbox::admin {
namespace {

constexpr std::string_view kReplayPath = "/v1/router_replay";
constexpr size_t kLimitMax = 1000;

AdminReply list(const http::Request& request, observe::Replay& replay) {
  const std::string_view query = request.query();
  const auto limit = query_number(query, "limit", 100, kLimitMax);
  if (!limit) return AdminReply::of(access::failure_of(limit.error()));
  const auto offset = query_number(query, "offset", 0, 1'000'000);
  if (!offset) return AdminReply::of(access::failure_of(offset.error()));
  const std::string decision = query_value(query, "decision");
  const std::string model = query_value(query, "model");
  return {200, replay.list_json({*limit, *offset, decision, model})};
}

AdminReply one(const http::Request& request, observe::Replay& replay) {
  auto found = replay.find_json(request.path().substr(kReplayPath.size() + 1));
  if (!found)
    return AdminReply::of({404, "NOT_FOUND", "there is no such record, or it has been removed"});
  return {200, *std::move(found)};
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
  return routes;
}

}  // namespace signalbox::admin
