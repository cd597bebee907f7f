#pragma once
// The workers of one model: chooses the worker for a request, tracks which workers are fit and how
// busy each is, and keeps the queue of waiting requests. It uses no socket and no clock; the caller
// reports what happens at the workers.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "router/workers/choice.h"
#include "router/workers/load.h"

namespace signalbox::workers {

/// How a call ended, as far as that concerns the worker.
enum class Ended : uint8_t {
  kAnswered,  // a complete reply, not a 5xx
  kFailed,    // no connection, no reply, a 5xx, or a reply that broke off
  kDropped,   // we ended it: the client has gone, or time was up
};

/// Why there is no worker.
enum class Missing : uint8_t {
  kRoom,   // every worker has as many requests as it may have; wait() for one
  kOther,  // every worker has been tried
};

/// Thread-safe. Workers are identified by their index.
class Balancer {
 public:
  struct Named {
    std::string name;
    uint32_t weight = 1;
  };
  using Ticket = uint64_t;

  /// Needs at least one worker. A worker of weight 0 gets no requests, unless all have weight 0.
  Balancer(config::Reliability settings, std::span<const Named> workers);

  const config::Reliability& settings() const { return settings_; }
  size_t size() const { return workers_.size(); }
  std::string_view name(size_t worker) const { return workers_[worker].name; }

  /// Chooses a worker that is not among `tried`. The request is in flight there until end(). An
  /// unfit worker is chosen only if no fit one is left, so that a pool whose workers all look unfit
  /// still serves.
  tl::expected<size_t, Missing> begin(const Affinity& affinity, std::span<const size_t> tried,
                                      TimePoint now);
  /// Ends the request; `blocks` is the size of its Affinity::blocks. Returns true if this ejected
  /// the worker.
  bool end(size_t worker, size_t blocks, Ended ended, TimePoint now);
  struct EndRetry {
    void operator()(Balancer* balancer) const { balancer->end_retry(); }
  };
  /// A retry in flight; null: none is allowed. The balancer outlives it.
  using RetryPermit = std::unique_ptr<Balancer, EndRetry>;
  /// Permits one more retry, so that a pool in trouble does not get twice the load. Every five new
  /// requests allow one, and at most a hundred accumulate; or the settings bound how many are in
  /// flight.
  RetryPermit take_retry();
  /// True if a call that found no connection needs no permit.
  bool is_free_without_connection() const { return !has_retry_budget(); }

  /// Enters the queue, or returns nullopt if it already has queue_max requests. `wake` is called
  /// once, on any thread, possibly this one, when the request has a worker. It may be called late;
  /// leave() returns the worker.
  std::optional<Ticket> wait(const Affinity& affinity, std::span<const size_t> tried,
                             std::function<void()> wake, TimePoint now);
  /// Leaves the queue; call it exactly once per ticket. Returns the worker that the request got, if
  /// any; the request is then in flight there.
  std::optional<size_t> leave(Ticket ticket);

  /// Records the result of a health check. Returns true if the worker's health changed.
  bool checked(size_t worker, bool passed, TimePoint now);
  /// Records the load that the worker reports. nullopt means that the load is no longer available,
  /// and only our own counts are used.
  void loaded(size_t worker, const std::optional<Load>& load);

  /// A snapshot for people and metrics.
  struct Status {
    std::string name;
    uint32_t weight;
    uint32_t in_flight;
    double others, waiting, cache_usage;
    bool healthy, ejected;
    size_t known_blocks;
    // Calls by their ends, without those that we ended, and ejections, since the balancer was made.
    uint64_t answered, failed, ejections;
  };
  std::vector<Status> status(TimePoint now) const;
  size_t waiting() const;

 private:
  struct Waiter {
    Ticket ticket;
    std::vector<uint64_t> blocks;
    std::string session;
    std::vector<uint64_t> ends;
    std::vector<size_t> tried;
    std::function<void()> wake;
    std::optional<size_t> worker = std::nullopt;

    Affinity affinity() const { return {blocks, session, ends}; }
  };
  using Wakes = std::vector<std::function<void()>>;

  tl::expected<size_t, Missing> take(const Affinity& affinity, std::span<const size_t> tried,
                                     TimePoint now);
  size_t choose(const Affinity& affinity, Among among);
  void end_retry();
  bool has_retry_budget() const;
  bool eject(Worker& worker, TimePoint now);
  bool all_fit_fail(TimePoint now) const;
  Wakes serve_queue(TimePoint now);

  const config::Reliability settings_;
  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::vector<size_t> among_;  // scratch
  std::list<Waiter> queue_;
  Ticket next_ticket_ = 1;
  uint64_t turn_ = 0;
  double mean_blocks_ = 0;
  double retries_;
  size_t retries_in_flight_ = 0;
};

}  // namespace signalbox::workers
