// Each model has one lock. Under it the balancer visits a few workers; a choice by prefix also does
// a binary search in each worker's blocks and one update. Callbacks run outside the lock.

#include "router/workers/balancer.h"

#include <algorithm>

namespace signalbox::workers {
namespace {

using Policy = config::Reliability::Policy;

constexpr double kRetryShare = 0.2;
constexpr double kRetriesMax = 100;
// The figure of a budget for which the file gives only the other one.
constexpr double kRetryPercent = 20;
constexpr uint32_t kRetriesLeast = 3;
/// The weight of a new request in the running mean of request sizes.
constexpr double kMeanShare = 1.0 / 16;

bool contains(std::span<const size_t> all, size_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

Balancer::Balancer(config::Reliability settings, std::span<const Named> workers)
    : settings_(std::move(settings)), retries_(kRetriesMax) {
  SIGNALBOX_CHECK(!workers.empty());
  const bool weightless = std::all_of(workers.begin(), workers.end(),
                                      [](const Named& each) { return each.weight == 0; });
  for (const Named& each : workers)
    workers_.emplace_back(each.name, weightless ? 1 : each.weight, settings_.prefix_blocks_max);
}

tl::expected<size_t, Missing> Balancer::begin(const Affinity& affinity,
                                              std::span<const size_t> tried, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (tried.empty()) {
    retries_ = std::min(kRetriesMax, retries_ + kRetryShare);
    mean_blocks_ += (static_cast<double>(affinity.blocks.size()) - mean_blocks_) * kMeanShare;
  }
  return take(affinity, tried, now);
}

tl::expected<size_t, Missing> Balancer::take(const Affinity& affinity,
                                             std::span<const size_t> tried, TimePoint now) {
  const auto gather = [&](const auto& fits) {
    among_.clear();
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].weight > 0 && !contains(tried, i) && fits(workers_[i])) among_.push_back(i);
    }
  };
  gather([now](const Worker& worker) { return worker.health.fit(now); });
  if (among_.empty()) gather([](const Worker&) { return true; });
  if (among_.empty()) return tl::unexpected(Missing::kOther);
  if (settings_.max_in_flight > 0) {
    std::erase_if(among_,
                  [&](size_t at) { return workers_[at].in_flight >= settings_.max_in_flight; });
    if (among_.empty()) return tl::unexpected(Missing::kRoom);
  }
  const size_t chosen = among_.size() == 1 ? among_.front() : choose(affinity, among_);
  ++turn_;
  Worker& worker = workers_[chosen];
  ++worker.in_flight;
  worker.active_blocks += affinity.blocks.size();
  worker.cache.add(settings_.lb_policy == Policy::kPrefix ? affinity.blocks : affinity.ends);
  return chosen;
}

size_t Balancer::choose(const Affinity& affinity, Among among) {
  const bool has_session = settings_.lb_policy == Policy::kSession && !affinity.session.empty();
  if (!has_session && !affinity.ends.empty()) {
    if (const auto shared = choose_shared(workers_, among, affinity.ends)) return *shared;
  }
  switch (settings_.lb_policy) {
    case Policy::kWeighted:
      return choose_weighted(workers_, among);
    case Policy::kSession:
      if (has_session) return choose_session(workers_, among, affinity.session);
      break;
    case Policy::kPrefix:
      return choose_prefix(workers_, among, affinity.blocks, mean_blocks_, settings_, turn_);
    case Policy::kLeastRequest:
      break;
  }
  return choose_least(workers_, among, turn_);
}

bool Balancer::end(size_t worker, size_t blocks, Ended ended, TimePoint now) {
  Wakes wakes;
  bool ejected = false;
  {
    const std::lock_guard lock(mutex_);
    Worker& at = workers_[worker];
    --at.in_flight;
    at.active_blocks -= blocks;
    at.answered += ended == Ended::kAnswered;
    at.failed += ended == Ended::kFailed;
    if (ended != Ended::kDropped && at.health.called(ended == Ended::kAnswered, settings_))
      ejected = eject(at, now);
    if (ended == Ended::kAnswered && at.health.ejected(now) && all_fit_fail(now))
      at.health.readmit(now);
    wakes = serve_queue(now);
  }
  for (const auto& wake : wakes) wake();
  return ejected;
}

// Never ejects the last fit worker. May always eject one, even if the percentage allows less than
// one.
bool Balancer::eject(Worker& worker, TimePoint now) {
  if (worker.health.ejected(now)) return false;
  size_t eligible = 0, fit = 0, out = 0;
  for (const Worker& each : workers_) {
    if (each.weight == 0) continue;
    ++eligible;
    fit += each.health.fit(now);
    out += each.health.ejected(now);
  }
  const size_t out_max = std::max<size_t>(1, eligible * settings_.max_ejection_percent / 100);
  const bool is_last = fit <= (worker.health.fit(now) ? 1 : 0);
  if (settings_.max_ejection_percent == 0 || out >= out_max || is_last) return false;
  worker.health.eject(now, settings_);
  ++worker.ejections;
  worker.cache.clear();  // its server will most likely have been restarted when it returns
  return true;
}

// Then an ejected worker that answers is the better choice: the last fit one is never ejected, so
// it would get every request first, and retries are bounded.
bool Balancer::all_fit_fail(TimePoint now) const {
  return std::all_of(workers_.begin(), workers_.end(), [now](const Worker& each) {
    return each.weight == 0 || !each.health.fit(now) || each.health.failing();
  });
}

bool Balancer::has_retry_budget() const {
  return settings_.retry_budget_percent || settings_.retry_budget_min_concurrency;
}

Balancer::RetryPermit Balancer::take_retry() {
  const std::lock_guard lock(mutex_);
  if (has_retry_budget()) {
    double in_flight = 0;
    for (const Worker& worker : workers_) in_flight += worker.in_flight;
    const double share = settings_.retry_budget_percent.value_or(kRetryPercent) / 100 * in_flight;
    const double least = settings_.retry_budget_min_concurrency.value_or(kRetriesLeast);
    if (static_cast<double>(retries_in_flight_) >= std::max(share, least)) return nullptr;
  } else {
    if (retries_ < 1) return nullptr;
    retries_ -= 1;
  }
  ++retries_in_flight_;
  return RetryPermit(this);
}

void Balancer::end_retry() {
  const std::lock_guard lock(mutex_);
  --retries_in_flight_;
}

// Serves the queue once, because a worker may have become free since begin() found none.
std::optional<Balancer::Ticket> Balancer::wait(const Affinity& affinity,
                                               std::span<const size_t> tried,
                                               std::function<void()> wake, TimePoint now) {
  Wakes wakes;
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= settings_.queue_max) return std::nullopt;
    ticket = next_ticket_++;
    queue_.push_back({ticket,
                      {affinity.blocks.begin(), affinity.blocks.end()},
                      std::string(affinity.session),
                      {affinity.ends.begin(), affinity.ends.end()},
                      {tried.begin(), tried.end()},
                      std::move(wake)});
    wakes = serve_queue(now);
  }
  for (const auto& each : wakes) each();
  return ticket;
}

std::optional<size_t> Balancer::leave(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [ticket](const Waiter& each) { return each.ticket == ticket; });
  SIGNALBOX_CHECK(found != queue_.end());
  const std::optional<size_t> worker = found->worker;
  queue_.erase(found);
  return worker;
}

// Serves the oldest request first. A request whose workers are still full does not block the
// others.
Balancer::Wakes Balancer::serve_queue(TimePoint now) {
  Wakes wakes;
  for (Waiter& each : queue_) {
    if (each.worker) continue;
    const auto got = take(each.affinity(), each.tried, now);
    if (!got) continue;
    each.worker = *got;
    wakes.push_back(std::move(each.wake));
  }
  return wakes;
}

bool Balancer::checked(size_t worker, bool passed, TimePoint now) {
  Wakes wakes;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    Worker& at = workers_[worker];
    changed = at.health.checked(passed, settings_);
    if (changed && !passed) at.cache.clear();
    if (changed) wakes = serve_queue(now);
  }
  for (const auto& wake : wakes) wake();
  return changed;
}

void Balancer::loaded(size_t worker, const std::optional<Load>& load) {
  const std::lock_guard lock(mutex_);
  Worker& at = workers_[worker];
  const Load reported = load.value_or(Load{});
  at.waiting = reported.waiting.value_or(0);
  at.others = std::max(0.0, reported.running.value_or(0) + at.waiting - at.in_flight);
  at.cache_usage = reported.cache_usage.value_or(0);
}

std::vector<Balancer::Status> Balancer::status(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::vector<Status> out;
  for (const Worker& each : workers_) {
    out.push_back({each.name, each.weight, each.in_flight, each.others, each.waiting,
                   each.cache_usage, each.health.healthy(), each.health.ejected(now),
                   each.cache.size(), each.answered, each.failed, each.ejections});
  }
  return out;
}

size_t Balancer::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace signalbox::workers
