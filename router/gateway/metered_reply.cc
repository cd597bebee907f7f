// Nothing is held back for it.

#include "router/gateway/metered_reply.h"

#include <utility>

#include "router/gateway/relay.h"

namespace signalbox::gateway {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

MeteredReply::MeteredReply(std::unique_ptr<upstream::UpstreamReply> answer,
                           selection::RuntimeStats& stats, std::string_view model,
                           Clock::time_point started, RequestRecord& watch)
    : answer_(std::move(answer)),
      stats_(stats),
      model_(model),
      watch_(watch),
      meter_(started, is_event_stream(answer_->head().headers)) {}

http::Task<Result<upstream::Piece>> MeteredReply::next() {
  Result<upstream::Piece> piece = co_await answer_->next();
  if (piece) watch_.passes(piece->bytes);
  if (!piece || head().status != 200) co_return piece;
  const Clock::time_point now = Clock::now();
  meter_.feed(piece->bytes, now);
  watch_.answers(meter_.events());
  if (piece->last) {
    const auto times = meter_.times();
    if (times.ttft_ms) stats_.add_ttft(model_, *times.ttft_ms, now);
    watch_.measured(times);
    if (times.tpot_ms) stats_.add_tpot(model_, *times.tpot_ms, now);
  }
  co_return piece;
}

}  // namespace signalbox::gateway
