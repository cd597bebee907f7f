#pragma once
// The workers of one model: which of them answers a request, who of them is fit, how much each has
// to do, and the requests that wait for one. No socket and no clock; what happens at the workers is
// told to it.

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "router/workers/choice.h"
#include "router/workers/load.h"

namespace signalbox::workers {

/// How a call ended, as far as it says something of the worker.
enum class Ended : uint8_t {
  kAnswered,  // with a reply, its end included, that was no 5xx
  kFailed,    // no connection, no reply, a 5xx, or a reply that broke off
  kDropped,   // by us: the client has gone, or time was up
};

/// Why there is no worker.
enum class Missing : uint8_t {
  kRoom,   // each has as many requests as it may; wait() for one
  kOther,  // each has been tried
};

/// Thread-safe. Workers are known by their index.
class Balancer {
 public:
  struct Named {
    std::string name;
    uint32_t weight = 1;
  };
  using Ticket = uint64_t;

  /// At least one worker. One of weight 0 gets nothing, unless all weigh that.
  Balancer(config::Reliability settings, std::span<const Named> workers);

  const config::Reliability& settings() const { return settings_; }
  size_t size() const { return workers_.size(); }
  std::string_view name(size_t worker) const { return workers_[worker].name; }

  /// A worker that is not among `tried`; the request is in flight there until end(). Unfit ones are
  /// asked only when no other is left, so that a pool of which nobody hears anything good still
  /// serves.
  tl::expected<size_t, Missing> begin(const Ask& ask, std::span<const size_t> tried, TimePoint now);
  /// `blocks` is the size of Ask::blocks. True when the worker has been ejected for it.
  bool end(size_t worker, size_t blocks, Ended ended, TimePoint now);
  /// Whether one more request may be sent twice. Of those sent before, one in five may, and a
  /// hundred at once: a pool that breaks down is not asked twice as much for it. Calls that have
  /// found no connection need not ask.
  bool take_retry();

  /// Stands in line, at most queue_max together; nothing when there is no place. `wake` is called
  /// once, on any thread, this one included, when there is a worker for it, and may be late:
  /// leave() says which.
  std::optional<Ticket> wait(const Ask& ask, std::span<const size_t> tried,
                             std::function<void()> wake, TimePoint now);
  /// Leaves the line, to be called exactly once a ticket. The worker that it got, if it did, where
  /// the request is in flight then.
  std::optional<size_t> leave(Ticket ticket);

  /// What a health check has found. True when that changes whether the worker is healthy.
  bool checked(size_t worker, bool passed, TimePoint now);
  /// What the worker says of its load; nothing: it can no longer be asked, and our own counts have
  /// to do.
  void loaded(size_t worker, const std::optional<Load>& load);

  /// For people and metrics.
  struct Status {
    std::string name;
    uint32_t weight;
    uint32_t in_flight;
    double others, waiting, cache_usage;
    bool healthy, ejected;
    size_t known_blocks;
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

    Ask ask() const { return {blocks, session, ends}; }
  };
  using Wakes = std::vector<std::function<void()>>;

  tl::expected<size_t, Missing> take(const Ask& ask, std::span<const size_t> tried, TimePoint now);
  size_t choose(const Ask& ask, Among among);
  bool eject(Worker& worker, TimePoint now);
  Wakes serve_line(TimePoint now);

  const config::Reliability settings_;
  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::vector<size_t> among_;  // scratch
  std::list<Waiter> line_;
  Ticket next_ticket_ = 1;
  uint64_t turn_ = 0;
  double mean_blocks_ = 0;
  double retries_;
};

}  // namespace signalbox::workers
