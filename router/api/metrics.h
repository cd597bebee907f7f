#pragma once
// GET /metrics, on the management listener and on a port of its own.

#include "router/api/answer_cache.h"
#include "router/api/compute.h"
#include "router/api/contexts.h"
#include "router/api/management.h"
#include "router/observe/metrics.h"
#include "router/observe/replay.h"
#include "router/reload/reloader.h"

namespace signalbox::api {

/// What is asked when somebody looks, rather than counted. All outlive it.
class Scrape {
 public:
  using ReloaderOf = std::function<const router::Reloader*()>;  // null: the configuration stays
  using ServerOf = std::function<const http::Server*()>;        // of the data plane; null: not yet
  using PoolOf = std::function<const Compute&()>;               // that understands requests

  Scrape(observe::Metrics& metrics, observe::Replay& replay, AnswerCache& cache,
         const Contexts& contexts, const upstream::Fleet& fleet, const router::Live& live,
         ReloaderOf reloader, ServerOf server, PoolOf pool)
      : metrics_(metrics),
        replay_(replay),
        cache_(cache),
        contexts_(contexts),
        fleet_(fleet),
        live_(live),
        reloader_(std::move(reloader)),
        server_(std::move(server)),
        pool_(std::move(pool)) {}

  /// Thread-safe.
  std::string text() const;
  bool enabled() const;

 private:
  void look_at_models(const router::Models& models, const config::Config& config) const;
  void look_at_contexts() const;
  void look_at_workers() const;
  void look_at_process() const;

  observe::Metrics& metrics_;
  observe::Replay& replay_;
  AnswerCache& cache_;
  const Contexts& contexts_;
  const upstream::Fleet& fleet_;
  const router::Live& live_;
  const ReloaderOf reloader_;
  const ServerOf server_;
  const PoolOf pool_;
};

/// For those who may: metrics.read. `scrape` outlives the route.
Route metrics_route(const Scrape& scrape, const router::Live& live, Compute& pool);
/// For everybody who can connect: /metrics, and nothing else.
http::Handler metrics_handler(const Scrape& scrape, Compute& pool);

}  // namespace signalbox::api
