// Measuring delays no byte.

#include "router/gateway/metered_reply.h"

#include <utility>

#include "router/gateway/relay.h"

namespace signalbox::gateway {
namespace {

using Clock = std::chrono::steady_clock;

http::Response head_without_length(const http::Response& of) {
  http::Response out;
  out.status = of.status;
  out.headers = of.headers;
  return out;
}

}  // namespace

MeteredReply::MeteredReply(std::unique_ptr<upstream::UpstreamReply> reply,
                           selection::RuntimeStats& stats, std::string_view model,
                           Clock::time_point started, RequestRecord& record)
    : reply_(std::move(reply)),
      stats_(stats),
      model_(model),
      record_(record),
      meter_(started, is_event_stream(reply_->head().headers)) {}

http::Task<Result<upstream::Piece>> MeteredReply::next() {
  Result<upstream::Piece> piece = co_await reply_->next();
  if (piece) record_.passes(piece->bytes);
  if (!piece || head().status != 200) co_return piece;
  const Clock::time_point now = Clock::now();
  meter_.feed(piece->bytes, now);
  record_.answers(meter_.events());
  if (piece->last) {
    const auto times = meter_.times();
    if (times.ttft_ms) stats_.add_ttft(model_, *times.ttft_ms, now);
    record_.measured(times);
    if (times.tpot_ms) stats_.add_tpot(model_, *times.tpot_ms, now);
  }
  co_return piece;
}

std::unique_ptr<upstream::UpstreamReply> UsageTakenReply::wrap(
    std::unique_ptr<upstream::UpstreamReply> reply) {
  const http::Headers& headers = reply->head().headers;
  if (!is_event_stream(headers) || headers.find("content-encoding")) return reply;
  return std::unique_ptr<upstream::UpstreamReply>(new UsageTakenReply(std::move(reply)));
}

UsageTakenReply::UsageTakenReply(std::unique_ptr<upstream::UpstreamReply> reply)
    : reply_(std::move(reply)), head_(head_without_length(reply_->head())) {}

http::Task<Result<upstream::Piece>> UsageTakenReply::next() {
  for (;;) {
    Result<upstream::Piece> piece = co_await reply_->next();
    if (!piece || (piece->bytes.empty() && !piece->last)) co_return piece;
    out_.clear();
    taker_.push(piece->bytes, piece->last, out_);
    if (piece->last || !out_.empty()) co_return upstream::Piece{out_, piece->last};
  }
}

ExtendedReply::ExtendedReply(std::unique_ptr<upstream::UpstreamReply> reply, std::string_view name,
                             std::string_view json)
    : reply_(std::move(reply)), head_(head_without_length(reply_->head())), editor_(name, json) {}

http::Task<Result<upstream::Piece>> ExtendedReply::next() {
  for (;;) {
    Result<upstream::Piece> piece = co_await reply_->next();
    if (!piece || (piece->bytes.empty() && !piece->last)) co_return piece;
    out_.clear();
    editor_.push(piece->bytes, piece->last, out_);
    if (piece->last || !out_.empty()) co_return upstream::Piece{out_, piece->last};
  }
}

}  // namespace signalbox::gateway
