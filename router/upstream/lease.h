#pragma once
// A request in flight at a worker. The lease always reports to the balancer how the request ended.

#include <memory>
#include <optional>
#include <string>

#include "router/http/deadline.h"
#include "router/upstream/backend.h"
#include "router/workers/balancer.h"

namespace signalbox::upstream {

/// Move-only. The destructor reports the assumed outcome if end() was not called. The objects that
/// it refers to must outlive it.
class Lease {
 public:
  Lease(workers::Balancer& balancer, std::string_view model, size_t worker, size_t blocks)
      : balancer_(&balancer), model_(model), worker_(worker), blocks_(blocks) {}
  Lease(Lease&& other) noexcept
      : balancer_(std::exchange(other.balancer_, nullptr)),
        model_(other.model_),
        worker_(other.worker_),
        blocks_(other.blocks_),
        assumed_(other.assumed_),
        counts_(other.counts_),
        permit_(std::move(other.permit_)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() { end(assumed_); }

  size_t worker() const { return worker_; }
  /// Sets the outcome to report if end() is never called; initially kDropped.
  void assume(workers::Ended ended) { assumed_ = ended; }
  void end(workers::Ended ended);
  /// The worker's health does not depend on how this request ends.
  void ignore_health() { counts_ = false; }
  /// The request is a retry until its lease ends; null: it is none any more.
  void hold(workers::Balancer::RetryPermit permit) { permit_ = std::move(permit); }

 private:
  workers::Balancer* balancer_;  // null once ended
  std::string_view model_;
  size_t worker_;
  size_t blocks_;
  workers::Ended assumed_ = workers::Ended::kDropped;
  bool counts_ = true;
  workers::Balancer::RetryPermit permit_;
};

/// The time that one attempt may take. 0: no limit.
struct AttemptTimes {
  std::chrono::milliseconds begin{0};  // until the reply begins
  std::chrono::milliseconds whole{0};  // until it ends; what is left of the call's total_timeout
  std::chrono::milliseconds total{0};  // the total_timeout itself, for the error
  std::chrono::milliseconds idle{0};   // for each further part of the reply

  bool any() const { return begin.count() + whole.count() + idle.count() > 0; }
};

/// Limits the time of an attempt. It passes the request's own interrupt on as well.
class ReplyLimit {
 public:
  ReplyLimit(http::asio::io_context& loop, http::Interrupt& request, const AttemptTimes& times);
  http::Interrupt& interrupt() { return interrupt_; }
  /// True if the reply did not begin in time, and there may be time for another attempt.
  bool is_late() const { return is_late_; }
  /// Removes the limit on the beginning, because the reply has begun.
  void lift() { begin_.clear(); }
  /// True if the reply paused for too long.
  bool is_idle() const { return is_idle_; }
  /// True if total_timeout ended an attempt that had less than half of it.
  bool was_cut_short() const { return is_over_ && 2 * times_.whole < times_.total; }
  /// A wait for a further part begins, or goes on after one that ended without it.
  void wait();
  void has_waited(bool has_part);

 private:
  void expire(std::chrono::milliseconds limit, std::string_view name);

  const AttemptTimes times_;
  http::Interrupt interrupt_;
  bool is_late_ = false, is_over_ = false, is_idle_ = false;
  std::chrono::milliseconds idle_left_;
  http::Clock::time_point wait_began_;
  http::Deadline begin_, whole_, idle_;
  http::Interrupt::Scope scope_;
};

/// A worker's reply. The lease ends with it.
class LeasedReply final : public UpstreamReply {
 public:
  LeasedReply(std::unique_ptr<UpstreamReply> reply, Lease lease, std::unique_ptr<ReplyLimit> limit);

  const http::Response& head() const override { return reply_->head(); }
  bool ready() const override { return reply_->ready(); }
  http::Task<Result<Piece>> next() override;
  void nudge() override { reply_->nudge(); }

 private:
  std::unique_ptr<ReplyLimit> limit_;  // reply_ refers to its interrupt
  std::unique_ptr<UpstreamReply> reply_;
  Lease lease_;
};

}  // namespace signalbox::upstream
