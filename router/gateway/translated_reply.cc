// Translation changes the length of a stream, so no Content-Length is sent.

#include "router/gateway/translated_reply.h"

#include <functional>
#include <utility>

#include "base/ascii.h"
#include "router/cache/reply.h"
#include "router/dialects/whole_events.h"
#include "router/gateway/read_request.h"
#include "router/gateway/relay.h"
#include "router/gateway/reply_filters.h"
#include "router/upstream/decoded_reply.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {

namespace {

constexpr std::string_view kEvents = "text/event-stream", kJson = "application/json";

/// Under another type, or none, some servers send events.
bool has_json(const http::Headers& headers) {
  constexpr std::string_view kSuffix = "+json";
  const auto type = headers.find("content-type");
  if (!type) return false;
  const std::string_view media = ascii::trimmed(type->substr(0, type->find(';')));
  return ascii::iequals(media, kJson) ||
         (media.size() > kSuffix.size() &&
          ascii::iequals(media.substr(media.size() - kSuffix.size()), kSuffix));
}

/// The head of a reply whose body gets another type.
http::Response without_type(const http::Response& from) {
  http::Response out;
  out.status = from.status;
  for (size_t i = 0; i < from.headers.size(); ++i) {
    if (!ascii::iequals(from.headers[i].name, "content-type")) out.headers.add(from.headers, i);
  }
  return out;
}

/// The events of a whole reply; "" if it has no answer.
std::string stream_of(const json::Value& whole, const ReplyFilterInputs& inputs) {
  if (!inputs.plan.native) {
    const auto choices = whole.find("choices");
    if (!choices || !choices->is_array()) return {};
    return cache::events_of(whole, inputs.server.to_client || inputs.plan.takes_usage ||
                                       inputs.request.chat.requests_usage());
  }
  return inputs.scope.api.native() == request::Api::kMessages ? dialects::message_events(whole)
                                                              : dialects::response_events(whole);
}

}  // namespace

http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> as_stream(
    const ReplyFilterInputs& inputs, std::unique_ptr<upstream::UpstreamReply> reply) {
  const http::Response& head = reply->head();
  if (head.status != 200 || !has_json(head.headers) || head.headers.find("content-encoding"))
    co_return reply;
  const std::string own_type(*head.headers.find("content-type"));
  Result<std::string> body = co_await upstream::read_whole(*reply, TranslatedReply::kBodyBytesMax);
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  http::Response own_head = without_type(head);
  reply.reset();  // it must not wait for the interrupt at the same time as the pool
  std::string events;
  std::function<void()> translate = [&] {
    const auto whole = json::Document::parse(*body);
    if (whole) events = stream_of(whole->root(), inputs);
  };
  const Result<void> ran = co_await run_by_size(inputs.scope, body->size(), std::move(translate));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  const bool streams = !events.empty();
  own_head.headers.add("Content-Type", streams ? kEvents : std::string_view(own_type));
  if (!streams) own_head.content_length = body->size();
  std::unique_ptr<upstream::UpstreamReply> out = std::make_unique<upstream::OnePieceReply>(
      std::move(own_head), streams ? std::move(events) : *std::move(body));
  co_return out;
}

// `done` may be called by any thread, even after the wait has timed out.
http::Task<> publish(dialects::ReplyTranslator& translator) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  const auto timer = std::make_shared<http::Timer>(executor);
  std::function<void()> done = [timer] { http::wake_from_anywhere(timer); };
  const auto patience = translator.publish(std::move(done));
  if (!patience) co_return;
  timer->expires_after(*patience);
  co_await timer->async_wait(http::kAwait);
}

http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> TranslatedReply::wrap(
    std::unique_ptr<upstream::UpstreamReply> answer, dialects::ReplyTranslator& translator,
    bool streams, const RequestScope* scope) {
  const http::Response& head = answer->head();
  if (auto read = upstream::check_encoding(head.headers, "it cannot be translated"); !read)
    co_return tl::unexpected<Error>(std::move(read).error());
  if (head.status == 200 && is_event_stream(head.headers) && !streams) {
    co_return fail(Code::kUpstream,
                   "the reply is a stream of events, which the client did not request");
  }
  std::unique_ptr<TranslatedReply> out(new TranslatedReply(std::move(answer), translator));
  if (!out->events_) {
    Result<void> read = co_await out->read_whole(scope);
    if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  }
  co_return std::unique_ptr<upstream::UpstreamReply>(std::move(out));
}

TranslatedReply::TranslatedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                                 dialects::ReplyTranslator& translator)
    : answer_(std::move(answer)), translator_(translator) {
  const http::Response& head = answer_->head();
  events_ = head.status == 200 && is_event_stream(head.headers);
  head_ = without_type(head);
  head_.headers.add("Content-Type", events_ ? kEvents : kJson);
}

http::Task<Result<void>> TranslatedReply::read_whole(const RequestScope* scope) {
  Result<std::string> read = co_await upstream::read_whole(*answer_, kBodyBytesMax);
  if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  answer_.reset();  // it must not wait for the interrupt at the same time as the pool
  const size_t bytes = read->size();
  Result<std::string> translated;
  std::function<void()> translate = [&] {
    if (head_.status == 200)
      translated = translator_.whole(*std::move(read));
    else
      translated = translator_.refusal(head_.status, *read);
  };
  if (scope == nullptr) {
    translate();
  } else if (const auto ran = co_await run_by_size(*scope, bytes, std::move(translate)); !ran) {
    co_return tl::unexpected<Error>(ran.error());
  }
  if (!translated) co_return tl::unexpected<Error>(std::move(translated).error());
  out_ = *std::move(translated);
  if (translator_.has_unpublished()) co_await publish(translator_);
  head_.content_length = out_.size();
  co_return Result<void>{};
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
    // The events that end a response may come before the end of the stream.
    if (translator_.has_unpublished()) co_await publish(translator_);
    if (piece->last || !out_.empty()) co_return upstream::Piece{out_, piece->last};
  }
}

}  // namespace signalbox::gateway
