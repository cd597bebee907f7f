// A call succeeds only once its reply is complete. A reply that breaks off is a failure of the
// worker, even though the client already has part of it.

#include "router/upstream/lease.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace signalbox::upstream {

using workers::Ended;

void Lease::end(Ended ended) {
  permit_.reset();
  workers::Balancer* const balancer = std::exchange(balancer_, nullptr);
  if (balancer == nullptr) return;
  if (!counts_) ended = Ended::kDropped;
  if (!balancer->end(worker_, blocks_, ended, http::Clock::now())) return;
  log::warn("workers",
            "model \"{}\": backend \"{}\" is taken out of rotation for a while after failures",
            model_, balancer->name(worker_));
}

ReplyLimit::ReplyLimit(http::asio::io_context& loop, http::Interrupt& request,
                       const AttemptTimes& times)
    : times_(times),
      idle_left_(times.idle),
      begin_(loop,
             [this] {
               is_late_ = true;
               expire(times_.begin, "reply_timeout");
             }),
      whole_(loop,
             [this] {
               is_over_ = true;
               expire(times_.total, "total_timeout");
             }),
      idle_(loop,
            [this] {
              is_idle_ = true;
              expire(times_.idle, "idle_timeout");
            }),
      scope_(request, [this, &request] { interrupt_.raise(request.why(), request.limit()); }) {
  if (times_.begin.count() > 0) begin_.set(times_.begin);
  if (times_.whole.count() > 0) whole_.set(times_.whole);
}

void ReplyLimit::expire(std::chrono::milliseconds limit, std::string_view name) {
  interrupt_.raise(Code::kDeadline, fmt::format("{} ms, the {} of the model", limit.count(), name));
}

void ReplyLimit::wait() {
  if (times_.idle.count() == 0) return;
  wait_began_ = http::Clock::now();
  idle_.set(idle_left_);
}

void ReplyLimit::has_waited(bool has_part) {
  idle_.clear();
  const auto taken =
      std::chrono::duration_cast<std::chrono::milliseconds>(http::Clock::now() - wait_began_);
  idle_left_ = has_part ? times_.idle : std::max(idle_left_ - taken, std::chrono::milliseconds(0));
}

LeasedReply::LeasedReply(std::unique_ptr<UpstreamReply> reply, Lease lease,
                         std::unique_ptr<ReplyLimit> limit)
    : limit_(std::move(limit)), reply_(std::move(reply)), lease_(std::move(lease)) {
  lease_.assume(head().status >= 500 ? Ended::kFailed : Ended::kDropped);
}

http::Task<Result<Piece>> LeasedReply::next() {
  if (limit_) limit_->wait();
  Result<Piece> piece = co_await reply_->next();
  const bool was_nudged = piece && !piece->last && piece->bytes.empty();
  if (limit_) limit_->has_waited(!was_nudged);
  if (!piece) {
    const bool is_fault = piece.error().code == Code::kUpstream || (limit_ && limit_->is_idle());
    lease_.end(is_fault ? Ended::kFailed : Ended::kDropped);
  } else if (piece->last) {
    lease_.end(head().status >= 500 ? Ended::kFailed : Ended::kAnswered);
  }
  co_return piece;
}

}  // namespace signalbox::upstream
