// /ready is 503 while models load and while requests drain, so that a load balancer uses another
// router.

#include "router/admin/health.h"

#include "base/json_writer.h"

namespace signalbox::admin {
namespace {

http::Task<> send_ready(http::Exchange exchange, bool ready) {
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  co_await exchange.reply.send(ready ? 200 : 503, fields,
                               ready ? R"({"ready":true})" : R"({"ready":false})");
}

}  // namespace

std::vector<http::Route> health_routes(const std::atomic<bool>& ready) {
  json::Writer health;
  health.begin_object()
      .member("status", "healthy")
      .member("version", SIGNALBOX_VERSION)
      .end_object();
  return {{"GET", "/health", http::fixed_json(health.take())},
          {"GET", "/ready",
           [&ready](http::Exchange exchange) { return send_ready(exchange, ready.load()); }}};
}

}  // namespace signalbox::admin
