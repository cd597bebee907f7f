#pragma once
// Every number of the process: for GET /metrics, on the management listener and on a port of its
// own, and for exports.

#include <mutex>

#include "router/admin/management.h"
#include "router/dialects/response_store.h"
#include "router/gateway/answer_cache.h"
#include "router/gateway/contexts.h"
#include "router/http/thread_pool.h"
#include "router/memories/memories.h"
#include "router/observe/metrics.h"
#include "router/observe/replay.h"
#include "router/serving/reloader.h"
#include "router/shared_counts/shared_counts.h"
#include "router/shared_learning/redis_learning.h"
#include "router/spending/ledger.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::admin {

/// Collects figures that are read at each scrape instead of counted. All arguments must outlive it.
class Scrape {
 public:
  using ReloaderOf =
      std::function<const serving::Reloader*()>;  // null: the configuration does not change
  using ServerOf =
      std::function<const http::Server*()>;  // of the data plane; null: not started yet
  using CountsOf = std::function<const shared_counts::SharedCounts*()>;  // null: not shared
  using LedgerOf = std::function<const spending::Ledger*()>;  // null: spending is not counted
  using LearningOf = std::function<const shared_learning::SharedLearning*()>;  // null: not shared
  using DocumentsOf = std::function<const vector_stores::VectorStores*()>;  // null: none are stored
  using MemoriesOf = std::function<const memories::Memories&()>;
  using PoolOf = std::function<const http::ThreadPool&()>;  // that evaluates requests
  using ReplayOf = std::function<observe::Replay&()>;

  Scrape(observe::Metrics& metrics, ReplayOf replay, gateway::AnswerCache& cache,
         const gateway::Contexts& contexts, const upstream::Fleet& fleet,
         const serving::CurrentState& current, ReloaderOf reloader, ServerOf server,
         CountsOf counts, LedgerOf ledger, LearningOf learning,
         const dialects::ResponseStore& responses, MemoriesOf memories, DocumentsOf documents,
         PoolOf pool)
      : metrics_(metrics),
        replay_(std::move(replay)),
        cache_(cache),
        contexts_(contexts),
        fleet_(fleet),
        current_(current),
        reloader_(std::move(reloader)),
        server_(std::move(server)),
        counts_(std::move(counts)),
        ledger_(std::move(ledger)),
        learning_(std::move(learning)),
        responses_(responses),
        memories_(std::move(memories)),
        documents_(std::move(documents)),
        pool_(std::move(pool)) {}

  /// Thread-safe, as is text().
  observe::Collection collect() const;
  /// Returns the same figures as the text of /metrics.
  std::string text() const;
  bool enabled() const;

 private:
  void update_models(const models::Models& models, const config::Config& config) const;
  void update_contexts() const;
  void update_workers() const;
  void update_counts() const;
  void update_spending() const;
  void update_responses() const;
  void update_memories() const;
  void update_replay() const;
  void update_learning() const;
  void update_keys() const;
  void update_documents() const;
  void update_process() const;

  observe::Metrics& metrics_;
  mutable std::mutex mutex_;  // one collection at a time: an older total must not replace a newer
  const ReplayOf replay_;
  gateway::AnswerCache& cache_;
  const gateway::Contexts& contexts_;
  const upstream::Fleet& fleet_;
  const serving::CurrentState& current_;
  const ReloaderOf reloader_;
  const ServerOf server_;
  const CountsOf counts_;
  const LedgerOf ledger_;
  const LearningOf learning_;
  const dialects::ResponseStore& responses_;
  const MemoriesOf memories_;
  const DocumentsOf documents_;
  const PoolOf pool_;
};

/// Requires the permission metrics.read. `scrape` must outlive the route.
http::Route metrics_route(const Scrape& scrape, const serving::CurrentState& current,
                          http::ThreadPool& pool);
/// Serves /metrics without access control, and nothing else.
http::Handler metrics_handler(const Scrape& scrape, http::ThreadPool& pool);

}  // namespace signalbox::admin
