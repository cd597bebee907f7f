// Restoring changes the length of a reply, so no Content-Length is sent.

#include "router/gateway/unmasked_reply.h"

#include <utility>

#include "router/gateway/relay.h"
#include "router/upstream/decoded_reply.h"

namespace signalbox::gateway {

Result<std::unique_ptr<upstream::UpstreamReply>> UnmaskedReply::wrap(
    std::unique_ptr<upstream::UpstreamReply> answer, const std::vector<pii::Mask>& masks) {
  SIGNALBOX_TRY_VOID(
      upstream::check_encoding(answer->head().headers, "personal data cannot be put back into it"));
  return std::unique_ptr<upstream::UpstreamReply>(new UnmaskedReply(std::move(answer), masks));
}

UnmaskedReply::UnmaskedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                             const std::vector<pii::Mask>& masks)
    : answer_(std::move(answer)), masks_(masks) {
  head_.status = answer_->head().status;
  head_.headers = answer_->head().headers;
  if (is_event_stream(head_.headers)) stream_.emplace(masks_);
}

Result<void> UnmaskedReply::take(const upstream::Piece& piece) {
  out_.clear();
  if (stream_) {
    SIGNALBOX_TRY_VOID(stream_->push(piece.bytes, out_));
    if (piece.last) stream_->finish(out_);
    return {};
  }
  if (body_.size() + piece.bytes.size() > kBodyBytesMax)
    return fail(Code::kUpstream, "the reply is longer than {} bytes", kBodyBytesMax);
  body_ += piece.bytes;
  if (piece.last) out_ = replies::unmask_reply(std::move(body_), masks_);
  return {};
}

http::Task<Result<upstream::Piece>> UnmaskedReply::next() {
  for (;;) {
    Result<upstream::Piece> piece = co_await answer_->next();
    if (!piece || (piece->bytes.empty() && !piece->last)) co_return piece;
    Result<void> taken = take(*piece);
    if (!taken) co_return tl::unexpected<Error>(std::move(taken).error());
    if (piece->last || !out_.empty()) co_return upstream::Piece{out_, piece->last};
  }
}

}  // namespace signalbox::gateway
