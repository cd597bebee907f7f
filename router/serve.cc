// Two servers: the management listener has a loop of its own, so that /health answers while models
// load and while the loops of the data plane are busy.

#include "router/serve.h"

#include <atomic>
#include <map>
#include <thread>

#include "router/api/chat.h"
#include "router/api/compute.h"
#include "router/api/errors.h"
#include "router/api/health.h"
#include "router/api/models.h"
#include "router/api/routes.h"
#include "router/http/server.h"
#include "router/upstream/backends.h"

namespace signalbox::router {
namespace {

constexpr std::string_view kManagement = "management";

http::ErrorBody error_body() {
  return [](int status, std::string_view message) { return api::error_body(status, message); };
}

// Threads that understand requests mostly wait for models, whose own threads work. Several for each
// of those, so that what they ask for gathers to batches.
uint32_t waiters(const config::HttpLimits& limits) {
  constexpr uint32_t kWaitersEach = 4;
  const uint32_t asked = limits.model_threads;
  return kWaitersEach * (asked != 0 ? asked : std::max(1U, std::thread::hardware_concurrency()));
}

config::HttpLimits one_thread(config::HttpLimits limits) {
  limits.threads = 1;
  return limits;
}

}  // namespace

/// Members in the order in which they are made; they are destroyed in reverse, after the loops have
/// stopped.
struct Daemon::Impl {
  Result<void> start(config::Config config, const OpenModels& open);
  Result<void> listen(http::Server& server, const config::Listener& listener,
                      http::Handler handler);

  std::atomic<bool> ready{false};
  std::chrono::milliseconds drain_timeout{};
  selection::RuntimeStats stats;
  std::unique_ptr<http::Server> management;
  std::unique_ptr<const Router> router;
  std::unique_ptr<upstream::Backends> backends;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<api::Compute> compute;  // its queue may hold coroutines of the server's loops
  std::map<std::string, uint16_t, std::less<>> ports;
  std::vector<std::string> listening;
  std::vector<std::string> notices;
};

Result<void> Daemon::Impl::listen(http::Server& to, const config::Listener& listener,
                                  http::Handler handler) {
  SIGNALBOX_TRY(const uint16_t port, to.listen(listener, std::move(handler)));
  ports[listener.name] = port;
  listening.push_back(fmt::format("{} {}:{}", listener.name, listener.address, port));
  return {};
}

Result<void> Daemon::Impl::start(config::Config config, const OpenModels& open) {
  drain_timeout = config.http.drain_timeout;
  if (config.management.enabled) {
    management = std::make_unique<http::Server>(one_thread(config.http), error_body());
    config::Listener listener;
    listener.name = kManagement;
    listener.address = config.management.bind_address;
    listener.port = config.management.port;
    SIGNALBOX_TRY_VOID(listen(*management, listener, api::make_routes(api::health_routes(ready))));
    management->start();
  }
  SIGNALBOX_TRY(Models models, open(config));
  SIGNALBOX_TRY(router, Router::create(std::move(config), std::move(models)));
  const config::Config& kept = router->config();
  backends = std::make_unique<upstream::Backends>(kept);
  notices = backends->notices();
  notices.insert(notices.end(), router->notices().begin(), router->notices().end());
  compute = std::make_unique<api::Compute>(waiters(kept.http), kept.http.model_queue_max);
  server = std::make_unique<http::Server>(kept.http, error_body());

  std::vector<api::Route> routes = api::model_routes(kept);
  routes.push_back(api::chat_route(*router, *backends, *compute, stats));
  const http::Handler handler = api::make_routes(std::move(routes));
  for (const config::Listener& listener : kept.listeners) {
    SIGNALBOX_TRY_VOID(listen(*server, listener, handler));
  }
  server->start();
  ready = true;
  return {};
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Daemon::~Daemon() {
  if (impl_->management) impl_->management->stop();
  if (impl_->server) impl_->server->stop();
}

Result<std::unique_ptr<Daemon>> Daemon::start(config::Config config, const OpenModels& open) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon(std::make_unique<Impl>()));
  SIGNALBOX_TRY_VOID(daemon->impl_->start(std::move(config), open));
  return daemon;
}

const std::vector<std::string>& Daemon::listening() const {
  return impl_->listening;
}
const std::vector<std::string>& Daemon::notices() const {
  return impl_->notices;
}

uint16_t Daemon::port(std::string_view listener) const {
  const auto found = impl_->ports.find(listener);
  return found == impl_->ports.end() ? 0 : found->second;
}

bool Daemon::drain() {
  impl_->ready = false;
  return impl_->server->drain(impl_->drain_timeout);
}

}  // namespace signalbox::router
