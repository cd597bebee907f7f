#pragma once
// GET /metrics, on the management listener and on a port of its own.

#include "router/admin/management.h"
#include "router/gateway/answer_cache.h"
#include "router/gateway/contexts.h"
#include "router/gateway/thread_pool.h"
#include "router/observe/metrics.h"
#include "router/observe/replay.h"
#include "router/serving/reloader.h"

namespace signalbox::admin {

/// What is asked when somebody looks, rather than counted. All outlive it.
class Scrape {
 public:
  using ReloaderOf = std::function<const serving::Reloader*()>;  // null: the configuration stays
  using ServerOf = std::function<const http::Server*()>;         // of the data plane; null: not yet
  using PoolOf = std::function<const gateway::ThreadPool&()>;    // that understands requests

  Scrape(observe::Metrics& metrics, observe::Replay& replay, gateway::AnswerCache& cache,
         const gateway::Contexts& contexts, const upstream::Fleet& fleet,
         const serving::CurrentState& live, ReloaderOf reloader, ServerOf server, PoolOf pool)
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
  void look_at_models(const models::Models& models, const config::Config& config) const;
  void look_at_contexts() const;
  void look_at_workers() const;
  void look_at_process() const;

  observe::Metrics& metrics_;
  observe::Replay& replay_;
  gateway::AnswerCache& cache_;
  const gateway::Contexts& contexts_;
  const upstream::Fleet& fleet_;
  const serving::CurrentState& live_;
  const ReloaderOf reloader_;
  const ServerOf server_;
  const PoolOf pool_;
};

/// For those who may: metrics.read. `scrape` outlives the route.
gateway::Route metrics_route(const Scrape& scrape, const serving::CurrentState& live,
                             gateway::ThreadPool& pool);
/// For everybody who can connect: /metrics, and nothing else.
http::Handler metrics_handler(const Scrape& scrape, gateway::ThreadPool& pool);

}  // namespace signalbox::admin
