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
        counts_(other.counts_) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() { end(assumed_); }

  size_t worker() const { return worker_; }
  /// Sets the outcome to report if end() is never called; initially kDropped.
  void assume(workers::Ended ended) { assumed_ = ended; }
  void end(workers::Ended ended);
  /// The worker's health does not depend on how this request ends.
  void ignore_health() { counts_ = false; }

 private:
  workers::Balancer* balancer_;  // null once ended
  std::string_view model_;
  size_t worker_;
  size_t blocks_;
  workers::Ended assumed_ = workers::Ended::kDropped;
  bool counts_ = true;
};

/// Limits the time until a reply begins. It passes the request's own interrupt on as well.
class ReplyLimit {
 public:
  ReplyLimit(http::asio::io_context& loop, http::Interrupt& request,
             std::chrono::milliseconds limit);
  http::Interrupt& interrupt() { return interrupt_; }
  bool expired() const { return expired_; }
  /// Removes the limit, because the reply has begun.
  void lift() { deadline_.clear(); }

 private:
  http::Interrupt interrupt_;
  bool expired_ = false;
  http::Deadline deadline_;
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
