#pragma once
// A request in flight at a worker: the balancer is told how it ended, whichever way that is.

#include <memory>
#include <optional>
#include <string>

#include "router/http/deadline.h"
#include "router/upstream/backend.h"
#include "router/workers/balancer.h"

namespace signalbox::upstream {

/// Move-only; ended with its last word, or as dropped. What it refers to outlives it.
class Lease {
 public:
  Lease(workers::Balancer& balancer, std::string_view model, size_t worker, size_t blocks)
      : balancer_(&balancer), model_(model), worker_(worker), blocks_(blocks) {}
  Lease(Lease&& other) noexcept
      : balancer_(std::exchange(other.balancer_, nullptr)),
        model_(other.model_),
        worker_(other.worker_),
        blocks_(other.blocks_),
        last_word_(other.last_word_) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() { end(last_word_); }

  size_t worker() const { return worker_; }
  /// What is said of the worker if nothing else is.
  void presume(workers::Ended ended) { last_word_ = ended; }
  void end(workers::Ended ended);

 private:
  workers::Balancer* balancer_;  // null once ended
  std::string_view model_;
  size_t worker_;
  size_t blocks_;
  workers::Ended last_word_ = workers::Ended::kDropped;
};

/// Bounds the time until a reply begins, beside what interrupts the request itself.
class ReplyLimit {
 public:
  ReplyLimit(http::asio::io_context& loop, http::Interrupt& request,
             std::chrono::milliseconds limit);
  http::Interrupt& interrupt() { return interrupt_; }
  bool struck() const { return struck_; }
  /// The reply has begun.
  void lift() { deadline_.clear(); }

 private:
  http::Interrupt interrupt_;
  bool struck_ = false;
  http::Deadline deadline_;
  http::Interrupt::Scope scope_;
};

/// A worker's answer: its end is the lease's.
class LeasedReply final : public UpstreamReply {
 public:
  LeasedReply(std::unique_ptr<UpstreamReply> answer, Lease lease,
              std::unique_ptr<ReplyLimit> limit);

  const http::Response& head() const override { return answer_->head(); }
  bool ready() const override { return answer_->ready(); }
  http::Task<Result<Piece>> next() override;
  void nudge() override { answer_->nudge(); }

 private:
  std::unique_ptr<ReplyLimit> limit_;  // the answer refers to its interrupt
  std::unique_ptr<UpstreamReply> answer_;
  Lease lease_;
};

}  // namespace signalbox::upstream
