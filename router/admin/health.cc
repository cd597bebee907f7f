// /ready is 503 while the router starts, while requests drain, and while the clients' keys of a
// store were never read, so that a load balancer uses another router.

#include "router/admin/health.h"

#include "base/json_writer.h"

namespace signalbox::admin {
namespace {

http::Task<> send_ready(http::Exchange exchange, Readiness found) {
  json::Writer out;
  out.begin_object().member("ready", found.is_ready);
  if (!found.is_ready) out.member("message", found.message);
  const std::string body = out.end_object().take();
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(found.is_ready ? 200 : 503, fields, body);
}

http::Handler ready_handler(const serving::CurrentState& current, const std::atomic<Stage>& stage) {
  return [&current, &stage](http::Exchange exchange) {
    return send_ready(exchange, readiness_of(current, stage));
  };
}

}  // namespace

Readiness readiness_of(const serving::CurrentState& current, const std::atomic<Stage>& stage) {
  const auto state = current.get();
  if (state == nullptr) return {false, "loading_models", "the router is loading its models"};
  const Stage now = stage.load();
  if (now == Stage::kStarting) return {false, "starting", "the router is starting"};
  if (now == Stage::kDraining) return {false, "draining", "the router accepts no new requests"};
  if (state->clients->awaits_keys()) {
    return {false, "waiting_for_keys",
            "the router could not read the clients' keys in global.access.keys_store yet"};
  }
  return {true, "ready", "the router accepts requests"};
}

std::vector<http::Route> health_routes(const serving::CurrentState& current,
                                       const std::atomic<Stage>& stage) {
  json::Writer health;
  health.begin_object()
      .member("status", "healthy")
      .member("version", SIGNALBOX_VERSION)
      .end_object();
  return {{"GET", "/health", http::fixed_json(health.take())},
          {"GET", "/ready", ready_handler(current, stage)}};
}

std::vector<http::Route> client_health_routes(const serving::CurrentState& current,
                                              const std::atomic<Stage>& stage) {
  return {{"GET", "/health", ready_handler(current, stage)},
          {"GET", "/ready", ready_handler(current, stage)}};
}

}  // namespace signalbox::admin
