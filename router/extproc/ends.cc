// A request goes on as mutations of the body that Envoy holds, and of its header with it; a
// response is settled piece by piece: each is let go once it is known what becomes of it.

#include "router/extproc/ends.h"

#include <charconv>
#include <random>
#include <utility>

#include "base/ascii.h"
#include "router/extproc/mutation.h"

namespace signalbox::extproc {
namespace {

using http::Task;

/// Of a piece of a body that is streamed both ways, as Envoy's files recommend.
constexpr size_t kPieceBytes = size_t{1} << 16;

/// Where routes of Envoy look for the model, and clusters of type ORIGINAL_DST for the server. Both
/// are upstream's.
constexpr std::string_view kSelectedModel = "x-selected-model";
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

// --- the request's end ---

// The client's header without what none of it may say: where it goes, and what stays here.
http::Headers Session::passing() const {
  const http::Headers& client = request_.headers;
  const http::EndToEnd passes(client);
  http::Headers out;
  for (size_t i = 0; i < client.size(); ++i) {
    const http::Field field = client[i];
    const bool stays = desk_.destinations != nullptr && desk_.destinations->withholds(field.name);
    if (passes(i) && !stays && !ascii::iequals(field.name, kSelectedModel))
      out.add(field.name, field.value);
  }
  return out;
}

// For the header, before it is known what the request becomes: Envoy may go on without asking again
// (trailers), or take no more changes of it (STREAMED), and follows what the header says by then.
Mutation Session::stripping() const {
  Mutation out = difference(request_.headers, passing());
  // Nor does it show everything (forward_rules).
  for (const std::string_view name : {kSelectedModel, kDestination}) {
    if (!request_.headers.find(name)) out.removed.emplace_back(name);
  }
  return out;
}

// What the request becomes for its server.
Mutation Session::request_mutation(const config::Model& model, const upstream::Call& call) const {
  const upstream::Destination& to = desk_.destinations->choose(model.name, draw());
  http::Headers wanted;
  to.outgoing.each(call, [&wanted](std::string_view name, std::string_view value) {
    if (!ascii::iequals(name, kSelectedModel)) wanted.add(name, value);
  });
  wanted.add(kSelectedModel, model.name);
  if (!to.endpoint.empty()) wanted.add(kDestination, to.endpoint);
  Mutation out = difference(duplex_request_ ? request_.headers : passing(), wanted);
  if (!wanted.find(kDestination) && duplex_request_ && !request_.headers.find(kDestination))
    out.removed.emplace_back(kDestination);
  const std::string path = to.outgoing.target(call);
  if (path != request_.target) out.set.push_back({":path", path});
  if (request_.headers.find(kContentLength)) out.removed.emplace_back(kContentLength);
  // Of a body that Envoy holds as a whole; else the server would get it in chunks.
  if (!duplex_request_ && request_mode_ != BodyMode::kStreamed)
    out.set.push_back({std::string(kContentLength), std::to_string(call.body.size())});
  return out;
}

// Sends the request on its way, and waits for the header of a response.
Task<upstream::CallOutcome> Session::forward(const config::Model& model,
                                             const upstream::Call& call) {
  upstream::CallOutcome out;
  if (forwarded_ || !has_request_body_) {
    out.answer = fail(Code::kUnsupported, "a request without a body cannot go on");
    co_return out;
  }
  Verdict verdict{.part = duplex_request_ ? Part::kRequestHeaders : Part::kRequestBody,
                  .headers = request_mutation(model, call),
                  .clears_route = desk_.clears_route || duplex_request_};
  if (!duplex_request_) verdict.body = call.body;
  answer(verdict);
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
    end(Ending::kUnprepared, fmt::format("{} instead of response_headers: response_header_mode has "
                                         "to be SEND",
                                         name_of(message->part)));
    message.reset();
  }
  if (!message) {
    out.answer = tl::unexpected<Error>(gone());
    co_return out;
  }
  owed_ = Part::kResponseHeaders;
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

// Whether that no body has come yet means that the client has left, as far as is known.
bool Session::awaits_body() const {
  if (has_body_ || cancelled_ || ending_ != Ending::kDone) return false;
  return response_mode_ ? response_mode_ != BodyMode::kNone : needs_reply_;
}

// A response has passed beside us, but for what of it is owed.
Error Session::unseen() {
  owed_.reset();
  end(Ending::kUnprepared,
      "no body came of a response that has to be looked at: response_body_mode must not be NONE");
  return {Code::kUpstream, "Envoy brought no body"};
}

Task<Result<upstream::Piece>> Session::EnvoyReply::next() {
  Session& s = session_;
  while (!s.whole_) {
    s.settle(false);
    std::optional<Message> message = co_await s.take();
    if (!message) {
      if (s.awaits_body()) co_await s.hear_of_cancel();
      if (s.has_body_ || s.cancelled_ || s.ending_ != Ending::kDone)
        co_return tl::unexpected<Error>(s.gone());
      if (s.needs_reply_) co_return tl::unexpected<Error>(s.unseen());
      break;  // Envoy does not send the body: it is not configured to
    }
    const Part part = message->part;
    if (part != Part::kResponseBody && part != Part::kResponseTrailers) {
      s.end(Ending::kInvalid, fmt::format("{} within a response", name_of(part)));
      co_return tl::unexpected<Error>(s.gone());
    }
    s.owed_ = part;
    if (part == Part::kResponseTrailers && !s.has_body_ && s.needs_reply_)
      co_return tl::unexpected<Error>(s.unseen());
    if (part == Part::kResponseTrailers) break;
    s.has_body_ = true;
    s.whole_ = message->last || s.one_response_body_;
    s.piece_ = std::move(message->body);
    if (!s.piece_.empty()) co_return upstream::Piece{s.piece_, s.whole_};
  }
  s.whole_ = true;
  co_return upstream::Piece{{}, true};
}

// --- the reply's end ---

Task<bool> Session::Reply::send(int status, const http::Headers& fields, std::string_view body) {
  start(status, fields, body.size());
  session_.out_.clear();  // of a response that is not to be seen
  state_ = State::kFinished;
  if (!can_tell()) co_return false;
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
  if (session_.owed_ == Part::kResponseHeaders && !broken()) session_.settle(false);
  co_return !broken();
}

Task<bool> Session::Reply::write(std::string_view bytes, bool last) {
  if (session_.cancelled_) state_ = State::kBroken;
  if (broken()) co_return false;
  if (session_.out_.size() + bytes.size() > kReplyBytesMax) {
    session_.end(Ending::kAborted, "a response is too long to be held");
    state_ = State::kBroken;
    co_return false;
  }
  session_.out_.append(bytes);
  state_ = last ? State::kFinished : State::kStreaming;
  if (!last) co_return true;
  if (session_.forwarded_) {
    session_.settle(true);
  } else if (can_tell()) {
    session_.reply(status_, fields_, session_.out_);
  }
  co_return !broken();
}

void Session::Reply::abandon() {
  if (!broken()) state_ = State::kAbandoned;
  if (session_.forwarded_ && !session_.cancelled_) session_.settle(false);
  session_.end(Ending::kAborted, "the response has no end");
}

// Whether Envoy waits for something that an answer can take the place of.
bool Session::Reply::can_tell() {
  if (!session_.cancelled_ && session_.owed_) return true;
  state_ = State::kBroken;
  session_.end(Ending::kAborted, "the response has no end");
  return false;
}

// The response's header, made what the reply's is. `last`: nothing follows it.
Verdict Session::told_header(Part part, bool last) const {
  Verdict out{.part = part, .headers = difference(head_.headers, reply_->fields())};
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

// Says what becomes of what Envoy has brought last. `last`: nothing of the response follows.
void Session::settle(bool last) {
  if (!owed_ || !forwarded_) return;
  if (duplex_response_ && !(owed_ == Part::kResponseHeaders && last)) return settle_duplex(last);
  const bool knows = reply_->started() && !told_;
  if (!out_.empty() && owed_ != Part::kResponseBody) {
    // There is no body of Envoy's that this could take the place of.
    if (owed_ == Part::kResponseHeaders && last)
      return reply(reply_->status(), reply_->fields(), std::exchange(out_, {}));
    return end(Ending::kAborted, "a response with trailers cannot be changed any more");
  }
  Verdict verdict = knows ? told_header(*owed_, last) : Verdict{*owed_};
  told_ = told_ || knows;
  // Its body has to be read before it is known what it becomes.
  if (owed_ == Part::kResponseHeaders && !knows) verdict.response_mode = BodyMode::kBuffered;
  if (verdict.response_mode == BodyMode::kStreamed) one_response_body_ = false;
  if (owed_ == Part::kResponseBody && out_ != piece_) verdict.body = out_;
  answer(verdict);
  out_.clear();
}

// Where what comes and what goes are not piece for piece: the header waits until it is known.
void Session::settle_duplex(bool last) {
  if (!reply_->started()) return;
  const Part part = *owed_;
  if (!told_) answer(told_header(Part::kResponseHeaders, last));
  told_ = true;
  const bool trails = part == Part::kResponseTrailers;
  if (!out_.empty() || (last && !trails)) stream(Part::kResponseBody, out_, last && !trails);
  if (trails) answer({.part = part});
  out_.clear();
  owed_.reset();
}

// A body in pieces, for a side that is streamed both ways.
void Session::stream(Part part, std::string_view body, bool ends) {
  do {
    const std::string_view piece = body.substr(0, kPieceBytes);
    body.remove_prefix(piece.size());
    answer({.part = part, .body = piece, .streams = true, .ends = ends && body.empty()});
  } while (!body.empty());
}

}  // namespace signalbox::extproc
