#pragma once
// For programs that monitor the daemon: GET /health succeeds while it runs, GET /ready while it
// accepts requests.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "router/http/routes.h"
#include "router/serving/serving_state.h"

namespace signalbox::admin {

/// The life of the daemon, apart from its models and the clients' keys.
enum class Stage : uint8_t { kStarting, kServing, kDraining };

struct Readiness {
  bool is_ready;
  std::string_view phase;    // "loading_models"
  std::string_view message;  // for anybody, so without names
};
Readiness readiness_of(const serving::CurrentState& current, const std::atomic<Stage>& stage);

/// The routes of the management listener. Both arguments must outlive the routes.
std::vector<http::Route> health_routes(const serving::CurrentState& current,
                                       const std::atomic<Stage>& stage);

/// The same paths on the listeners of clients, for balancers that check the port that they use:
/// both succeed while the router accepts requests. Both arguments must outlive the routes.
std::vector<http::Route> client_health_routes(const serving::CurrentState& current,
                                              const std::atomic<Stage>& stage);

}  // namespace signalbox::admin
