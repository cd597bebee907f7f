// The session's traffic with Envoy. The request is forwarded as changes of the header and body that
// Envoy holds. The response is handled piece by piece: each piece is released once its new content
// is known.

#include "router/extproc/envoy_exchange.h"

#include <charconv>
#include <random>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "router/extproc/mutation.h"

namespace signalbox::extproc {
namespace {

using http::Task;

/// The size of a piece of a body that is streamed in both directions, as Envoy's documentation
/// recommends.
constexpr size_t kPieceBytes = size_t{1} << 16;

using upstream::kSelectedModel;
/// The header in which clusters of type ORIGINAL_DST look for the server, as in the vLLM Semantic
/// Router.
constexpr std::string_view kDestination = "x-vsr-destination-endpoint";
constexpr std::string_view kContentLength = "content-length";

double draw() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

bool is_event_stream(const http::Headers& headers) {
  const auto type = headers.find("content-type");
  return type && ascii::iequals(type->substr(0, 17), "text/event-stream");
}

std::optional<uint64_t> length_of(const http::Headers& headers) {
  const auto text = headers.find(kContentLength);
  if (!text) return std::nullopt;
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return out;
}

}  // namespace

// --- calls that the router makes ---

// Asks Envoy to wait as long as the whole request may take. Envoy ignores this if it does not limit
// the time of the answer.
void Session::request_time() {
  if (has_time_ || !pending_) return;
  has_time_ = true;
  channel_.send(write_wait(site_.timeout));
}

Task<upstream::CallOutcome> Session::DirectCaller::call(const config::Model& model,
                                                        const upstream::Call& call) const {
  session_.request_time();
  upstream::CallOutcome outcome = co_await session_.host_.direct->call(model, call);
  co_return outcome;
}

// --- the request to the server ---

// Returns the client's header without fields that a client must not set and fields that no server
// may receive.
http::Headers Session::client_fields() const {
  const http::Headers& client = held_;
  const http::EndToEnd passes(client);
  http::Headers out;
  for (size_t i = 0; i < client.size(); ++i) {
    const http::Field field = client[i];
    const bool stays = host_.destinations != nullptr && host_.destinations->withholds(field.name);
    if (passes(i) && !stays && !ascii::iequals(field.name, kSelectedModel)) out.add(client, i);
  }
  return out;
}

// Changes the header before the request's new form is known. Envoy may continue without another
// message to us (trailers), or accept no more changes (STREAMED), and then acts on the header as it
// is at that time.
Mutation Session::strip_request() const {
  Mutation out = difference(held_, client_fields());
  // Envoy may also hide fields from us (forward_rules), so remove these in any case.
  for (const std::string_view name : {kSelectedModel, kDestination}) {
    if (!held_.find(name)) out.removed.emplace_back(name);
  }
  return out;
}

// Returns the changes that turn the client's request into the server's.
Mutation Session::request_mutation(const config::Model& model, const upstream::Call& call) const {
  const upstream::Destination& to = host_.destinations->choose(model.name, draw());
  http::Headers wanted;
  to.outgoing.each(call, [&wanted](std::string_view name, std::string_view value) {
    if (!ascii::iequals(name, kSelectedModel)) wanted.add(name, value);
  });
  wanted.add(kSelectedModel, model.name);
  if (!to.endpoint.empty()) wanted.add(kDestination, to.endpoint);
  Mutation out = difference(duplex_request_ ? held_ : client_fields(), wanted);
  if (!wanted.find(kDestination) && duplex_request_ && !held_.find(kDestination))
    out.removed.emplace_back(kDestination);
  const std::string path = to.outgoing.target(call);
  if (path != request_.target) out.set.push_back({":path", path});
  if (request_.headers.find(kContentLength)) out.removed.emplace_back(kContentLength);
  // Only for a body that Envoy holds as a whole; otherwise the server would receive it in chunks.
  if (!duplex_request_ && request_mode_ != BodyMode::kStreamed)
    out.set.push_back({std::string(kContentLength), std::to_string(call.body.size())});
  return out;
}

// Forwards the request and waits for the header of a response.
Task<upstream::CallOutcome> Session::forward(const config::Model& model,
                                             const upstream::Call& call) {
  upstream::CallOutcome out;
  if (forwarded_ || !has_request_body_) {
    out.answer = fail(Code::kUnsupported, "a request without a body cannot be forwarded");
    co_return out;
  }
  Continuation continuation{.part = duplex_request_ ? Part::kRequestHeaders : Part::kRequestBody,
                            .headers = request_mutation(model, call),
                            .clears_route = host_.clears_route || duplex_request_};
  if (!duplex_request_) continuation.body = call.body;
  answer(continuation);
  if (duplex_request_) stream(Part::kRequestBody, call.body, !has_request_trailers_);
  if (has_request_trailers_) answer({.part = Part::kRequestTrailers});
  forwarded_ = true;
  needs_reply_ = call.needs_reply;
  ++out.attempts;
  std::optional<Message> message = co_await take();
  if (message && message->part == Part::kRequestTrailers && request_mode_ == BodyMode::kBuffered) {
    answer({.part = Part::kRequestTrailers});
    message = co_await take();
  }
  if (message && message->part != Part::kResponseHeaders) {
    end(Ending::kUnprepared,
        fmt::format("{} instead of response_headers: response_header_mode must "
                    "be SEND",
                    name_of(message->part)));
    message.reset();
  }
  if (!message) {
    out.answer = tl::unexpected<Error>(cancellation());
    co_return out;
  }
  pending_ = Part::kResponseHeaders;
  if (message->headers.wire().size() > site_.limits.reply_header_bytes_max) {
    out.answer = fail(Code::kUpstream, "its reply header is longer than {} bytes",
                      site_.limits.reply_header_bytes_max);
    co_return out;
  }
  whole_ = message->last;
  head_.status = message->status == 0 ? 200 : message->status;
  head_.headers = std::move(message->headers);
  head_.content_length = length_of(head_.headers);
  out.answer = std::make_unique<EnvoyReply>(*this);
  co_return out;
}

// True if the missing body means, as far as is known, that the client has left.
bool Session::awaits_body() const {
  if (has_body_ || cancelled_ || ending_ != Ending::kDone) return false;
  return response_mode_ ? response_mode_ != BodyMode::kNone : needs_reply_;
}

// Ends a stream whose response has passed by without our inspection, except for the part that is
// still pending.
Error Session::report_missing_body() {
  pending_.reset();
  end(Ending::kUnprepared,
      "a response that must be inspected came without a body: response_body_mode must not be NONE");
  return {Code::kUpstream, "Envoy sent no body"};
}

Task<Result<upstream::Piece>> Session::EnvoyReply::next() {
  Session& s = session_;
  while (!s.whole_) {
    s.answer_pending(false);
    std::optional<Message> message = co_await s.take();
    if (!message) {
      if (s.awaits_body()) co_await s.wait_for_cancel();
      if (s.has_body_ || s.cancelled_ || s.ending_ != Ending::kDone)
        co_return tl::unexpected<Error>(s.cancellation());
      if (s.needs_reply_) co_return tl::unexpected<Error>(s.report_missing_body());
      break;  // Envoy is configured not to send the body
    }
    const Part part = message->part;
    if (part != Part::kResponseBody && part != Part::kResponseTrailers) {
      s.end(Ending::kInvalid, fmt::format("{} within a response", name_of(part)));
      co_return tl::unexpected<Error>(s.cancellation());
    }
    s.pending_ = part;
    if (part == Part::kResponseTrailers && !s.has_body_ && s.needs_reply_)
      co_return tl::unexpected<Error>(s.report_missing_body());
    if (part == Part::kResponseTrailers) break;
    s.has_body_ = true;
    s.whole_ = message->last || s.one_response_body_;
    s.piece_ = std::move(message->body);
    if (!s.piece_.empty()) co_return upstream::Piece{s.piece_, s.whole_};
  }
  s.whole_ = true;
  co_return upstream::Piece{{}, true};
}

// --- the reply to the client ---

Task<bool> Session::Reply::send(int status, const http::Headers& fields, std::string_view body) {
  start(status, fields, body.size());
  session_.out_.clear();  // discard a response that the client must not see
  state_ = State::kFinished;
  if (!can_reply()) co_return false;
  session_.reply(status, fields, body);
  co_return true;
}

void Session::Reply::start(int status, const http::Headers& fields,
                           std::optional<uint64_t> length) {
  status_ = status;
  fields_ = fields;
  length_ = length;
  state_ = State::kPending;
}

Task<bool> Session::Reply::flush() {
  if (session_.cancelled_) state_ = State::kBroken;
  if (session_.pending_ == Part::kResponseHeaders && !broken()) session_.answer_pending(false);
  co_return !broken();
}

Task<bool> Session::Reply::write(std::string_view bytes, bool last) {
  if (session_.cancelled_) state_ = State::kBroken;
  if (broken()) co_return false;
  const bool is_too_long = session_.out_.size() + bytes.size() > kReplyBytesMax;
  const auto has_room = [&] {
    const uint64_t more = http::kBodyCopies * bytes.size();
    return session_.forwarded_ || session_.reply_memory_.add(more) == http::Raise::kDone;
  };
  if (is_too_long || !has_room()) {
    give_up(is_too_long);
    co_return false;
  }
  session_.out_.append(bytes);
  state_ = last ? State::kFinished : State::kStreaming;
  if (!last) co_return true;
  if (session_.forwarded_) {
    session_.answer_pending(true);
  } else if (can_reply()) {
    session_.reply(status_, fields_, std::exchange(session_.out_, {}));
  }
  co_return !broken();
}

// Ends a reply that cannot be buffered. The client gets an error if nothing of the reply was sent.
void Session::Reply::give_up(bool is_too_long) {
  const std::string_view why = is_too_long
                                   ? "the response is too long to be buffered"
                                   : "the requests in flight use all the memory that they may use";
  std::string().swap(session_.out_);
  if (session_.forwarded_) {
    state_ = State::kBroken;
    return session_.end(Ending::kAborted, std::string(why));
  }
  state_ = State::kFinished;
  // Other requests need not wait until Envoy has finished this one.
  session_.reply_memory_.lower(0);
  log::warn("extproc", "refused a reply: {}", why);
  status_ = is_too_long ? 502 : 429;
  session_.refuse(status_, why);
}

void Session::Reply::abandon() {
  if (!broken()) state_ = State::kAbandoned;
  if (session_.forwarded_ && !session_.cancelled_) session_.answer_pending(false);
  session_.end(Ending::kAborted, "the response has no end");
}

// True if Envoy waits for a message in whose place a reply can be sent.
bool Session::Reply::can_reply() {
  if (!session_.cancelled_ && session_.pending_) return true;
  state_ = State::kBroken;
  session_.end(Ending::kAborted, "the response has no end");
  return false;
}

// Returns the changes that turn the response's header into the reply's. `last`: nothing follows it.
Continuation Session::reply_header(Part part, bool last) const {
  Continuation out{.part = part, .headers = difference(head_.headers, reply_->fields())};
  if (reply_->status() != head_.status)
    out.headers.set.push_back({":status", std::to_string(reply_->status())});
  const bool keeps_length = reply_->length() && reply_->length() == head_.content_length;
  if (!keeps_length && head_.headers.find(kContentLength))
    out.headers.removed.emplace_back(kContentLength);
  if (part == Part::kResponseHeaders && !last && !duplex_response_ &&
      is_event_stream(head_.headers))
    out.response_mode = BodyMode::kStreamed;
  return out;
}

// Answers the last message from Envoy. `last`: nothing of the response follows.
void Session::answer_pending(bool last) {
  if (!pending_ || !forwarded_) return;
  if (duplex_response_ && !(pending_ == Part::kResponseHeaders && last)) return answer_duplex(last);
  const bool is_header_known = reply_->started() && !header_sent_;
  if (!out_.empty() && pending_ != Part::kResponseBody) {
    // Envoy holds no body that these bytes could replace.
    if (pending_ == Part::kResponseHeaders && last)
      return reply(reply_->status(), reply_->fields(), std::exchange(out_, {}));
    return end(Ending::kAborted, "a response with trailers cannot be changed any more");
  }
  Continuation continuation =
      is_header_known ? reply_header(*pending_, last) : Continuation{*pending_};
  header_sent_ = header_sent_ || is_header_known;
  // The body must be read before the header can be decided.
  if (pending_ == Part::kResponseHeaders && !is_header_known)
    continuation.response_mode = BodyMode::kBuffered;
  if (continuation.response_mode == BodyMode::kStreamed) one_response_body_ = false;
  if (pending_ == Part::kResponseBody && out_ != piece_) continuation.body = out_;
  answer(continuation);
  out_.clear();
}

// With full-duplex streaming, incoming and outgoing pieces do not correspond. The header waits
// until it is decided.
void Session::answer_duplex(bool last) {
  if (!reply_->started()) return;
  const Part part = *pending_;
  if (!header_sent_) answer(reply_header(Part::kResponseHeaders, last));
  header_sent_ = true;
  const bool is_trailer = part == Part::kResponseTrailers;
  if (!out_.empty() || (last && !is_trailer))
    stream(Part::kResponseBody, out_, last && !is_trailer);
  if (is_trailer) answer({.part = part});
  out_.clear();
  pending_.reset();
}

// Sends a body in pieces, for a direction that is streamed in full duplex.
void Session::stream(Part part, std::string_view body, bool ends) {
  do {
    const std::string_view piece = body.substr(0, kPieceBytes);
    body.remove_prefix(piece.size());
    answer({.part = part, .body = piece, .streams = true, .ends = ends && body.empty()});
  } while (!body.empty());
}

}  // namespace signalbox::extproc
