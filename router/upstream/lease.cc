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
                       std::chrono::milliseconds limit)
    : deadline_(loop,
                [this, limit] {
                  expired_ = true;
                  interrupt_.raise(Code::kDeadline, fmt::format("{} ms", limit.count()));
                }),
      scope_(request, [this, &request] { interrupt_.raise(request.why(), request.limit()); }) {
  deadline_.set(limit);
}

LeasedReply::LeasedReply(std::unique_ptr<UpstreamReply> reply, Lease lease,
                         std::unique_ptr<ReplyLimit> limit)
    : limit_(std::move(limit)), reply_(std::move(reply)), lease_(std::move(lease)) {
  lease_.assume(head().status >= 500 ? Ended::kFailed : Ended::kDropped);
}

http::Task<Result<Piece>> LeasedReply::next() {
  Result<Piece> piece = co_await reply_->next();
  if (!piece) {
    lease_.end(piece.error().code == Code::kUpstream ? Ended::kFailed : Ended::kDropped);
  } else if (piece->last) {
    lease_.end(head().status >= 500 ? Ended::kFailed : Ended::kAnswered);
  }
  co_return piece;
}

}  // namespace signalbox::upstream
