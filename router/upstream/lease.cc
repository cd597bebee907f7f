// A call succeeds only once its reply is complete. A reply that breaks off is a failure of the
// worker, even though the client already has part of it.

#include "router/upstream/lease.h"

#include <utility>

#include "base/log.h"

namespace signalbox::upstream {

using workers::Ended;

void Lease::end(Ended ended) {
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
      begin_(loop,
             [this] {
               is_late_ = true;
               expire(times_.begin, "reply_timeout");
             }),
      whole_(loop, [this] { expire(times_.total, "total_timeout"); }),
      idle_(loop, [this] { expire(times_.idle, "idle_timeout"); }),
      scope_(request, [this, &request] { interrupt_.raise(request.why(), request.limit()); }) {
  if (times_.begin.count() > 0) begin_.set(times_.begin);
  if (times_.whole.count() > 0) whole_.set(times_.whole);
}

void ReplyLimit::expire(std::chrono::milliseconds limit, std::string_view name) {
  interrupt_.raise(Code::kDeadline, fmt::format("{} ms, the {} of the model", limit.count(), name));
}

void ReplyLimit::wait() {
  if (times_.idle.count() > 0 && !waits_) idle_.set(times_.idle);
  waits_ = true;
}

void ReplyLimit::has_waited() {
  idle_.clear();
  waits_ = false;
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
  if (limit_ && !was_nudged) limit_->has_waited();
  if (!piece) {
    lease_.end(piece.error().code == Code::kUpstream ? Ended::kFailed : Ended::kDropped);
  } else if (piece->last) {
    lease_.end(head().status >= 500 ? Ended::kFailed : Ended::kAnswered);
  }
  co_return piece;
}

}  // namespace signalbox::upstream
