// Without a usage the record estimates the tokens of the request alone: the bytes of vectors,
// images and sounds are not a measure of tokens.

#include "router/endpoints/measured_reply.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "router/gateway/relay.h"
#include "router/upstream/dialect_headers.h"

namespace signalbox::endpoints {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kBeginningBytes = 1024;

}  // namespace

MeasuredReply::MeasuredReply(std::unique_ptr<upstream::UpstreamReply> reply,
                             gateway::RequestRecord& record)
    : reply_(std::move(reply)),
      record_(record),
      reports_usage_(upstream::is_json(head().headers) || gateway::is_event_stream(head().headers)),
      meter_(Clock::now(), gateway::is_event_stream(head().headers)) {}

http::Task<Result<upstream::Piece>> MeasuredReply::next() {
  Result<upstream::Piece> piece = co_await reply_->next();
  if (!piece || head().status != 200) co_return piece;
  record_.answers(0);
  if (!reports_usage_) co_return piece;
  meter_.feed(piece->bytes, Clock::now());
  beginning_ +=
      piece->bytes.substr(0, kBeginningBytes - std::min(beginning_.size(), kBeginningBytes));
  if (piece->last) record_.measured(usage());
  co_return piece;
}

replies::ReplyMeter::Times MeasuredReply::usage() const {
  replies::ReplyMeter::Times out = meter_.times();
  if (!out.prompt_tokens && !out.completion_tokens) {
    replies::ReplyMeter beginning(Clock::now(), false);
    beginning.feed(beginning_, Clock::now());
    replies::ReplyOrigin origin = std::move(out.origin);
    out = beginning.times();
    out.origin = std::move(origin);
  }
  out.ttft_ms = out.tpot_ms = std::nullopt;  // nothing is generated token by token
  return out;
}

}  // namespace signalbox::endpoints
