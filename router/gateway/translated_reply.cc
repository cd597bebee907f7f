// Translation changes the length of a stream, so no Content-Length is sent.

#include "router/gateway/translated_reply.h"

#include <utility>

#include "base/ascii.h"
#include "router/gateway/relay.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {

http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> TranslatedReply::wrap(
    std::unique_ptr<upstream::UpstreamReply> answer, dialects::ReplyTranslator& translator,
    bool streams, http::ThreadPool* publishes_on) {
  const http::Response& head = answer->head();
  const auto encoding = head.headers.find("content-encoding");
  if (encoding && !ascii::iequals(*encoding, "identity"))
    co_return fail(Code::kUpstream, "the reply is compressed, and cannot be translated");
  if (head.status == 200 && is_event_stream(head.headers) != streams) {
    co_return fail(Code::kUpstream, "the reply is {} stream of events, and {} was asked for",
                   streams ? "no" : "a", streams ? "one" : "none");
  }
  std::unique_ptr<TranslatedReply> out(
      new TranslatedReply(std::move(answer), translator, publishes_on));
  if (!out->events_) {
    Result<void> read = co_await out->read_whole();
    if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  }
  co_return std::unique_ptr<upstream::UpstreamReply>(std::move(out));
}

TranslatedReply::TranslatedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                                 dialects::ReplyTranslator& translator,
                                 http::ThreadPool* publishes_on)
    : answer_(std::move(answer)), translator_(translator), publishes_on_(publishes_on) {
  const http::Response& head = answer_->head();
  head_.status = head.status;
  events_ = head.status == 200 && is_event_stream(head.headers);
  for (size_t i = 0; i < head.headers.size(); ++i) {
    const http::Field field = head.headers[i];
    if (!ascii::iequals(field.name, "content-type")) head_.headers.add(field.name, field.value);
  }
  head_.headers.add("Content-Type", events_ ? "text/event-stream" : "application/json");
}

http::Task<Result<void>> TranslatedReply::read_whole() {
  Result<std::string> read = co_await upstream::read_whole(*answer_, kBodyBytesMax);
  if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  std::string body = *std::move(read);
  if (head_.status == 200) {
    Result<std::string> whole = translator_.whole(std::move(body));
    if (!whole) co_return tl::unexpected<Error>(std::move(whole).error());
    out_ = *std::move(whole);
    co_await publish();
  } else {
    out_ = translator_.refusal(head_.status, body);
  }
  head_.content_length = out_.size();
  co_return Result<void>{};
}

// The reply waits for it, unless the pool is full.
http::Task<> TranslatedReply::publish() {
  if (publishes_on_ == nullptr || !translator_.publishes()) co_return;
  std::function<void()> work = [this] { translator_.publish(true); };
  const bool ran = co_await publishes_on_->run(std::move(work));
  if (!ran) translator_.publish(false);
}

Result<void> TranslatedReply::take(const upstream::Piece& piece) {
  out_.clear();
  SIGNALBOX_TRY_VOID(translator_.push(piece.bytes, out_));
  return piece.last ? translator_.finish(out_) : Result<void>{};
}

http::Task<Result<upstream::Piece>> TranslatedReply::next() {
  if (!events_) co_return upstream::Piece{out_, true};
  if (error_) co_return tl::unexpected<Error>(*std::move(error_));
  for (;;) {
    Result<upstream::Piece> piece = co_await answer_->next();
    if (!piece || (piece->bytes.empty() && !piece->last)) co_return piece;
    Result<void> taken = take(*piece);
    if (!taken && out_.empty()) co_return tl::unexpected<Error>(std::move(taken).error());
    if (!taken) {
      error_ = std::move(taken).error();
      co_return upstream::Piece{out_, false};
    }
    if (piece->last) co_await publish();
    if (piece->last || !out_.empty()) co_return upstream::Piece{out_, piece->last};
  }
}

}  // namespace signalbox::gateway
