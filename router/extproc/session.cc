// One coroutine a session: read the request, let it be handled, see Envoy off. What comes waits in
// an inbox of one message until the coroutine asks, and the next is read only then, so that Envoy's
// pace is ours.

#include "router/extproc/session.h"

#include <boost/asio/co_spawn.hpp>
#include <charconv>
#include <exception>
#include <random>
#include <utility>

#include "base/log.h"
#include "router/extproc/mutation.h"

namespace signalbox::extproc {
namespace {

using http::Task;

// After the timeout: for telling the client so.
constexpr std::chrono::milliseconds kGraceLimit{5'000};
/// Of an answer of our own, which goes out as one message.
constexpr size_t kOutBytesMax = size_t{1} << 26;

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
  return type && http::iequals(type->substr(0, 17), "text/event-stream");
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

/// Calls of models, which Envoy makes.
class Session::Gate final : public upstream::Caller {
 public:
  explicit Gate(Session& session) : session_(session) {}
  Task<upstream::Outcome> call(const config::Model& model,
                               const upstream::Call& call) const override {
    return session_.forward(model, call);
  }

 private:
  Session& session_;
};

/// What is written becomes what Envoy does to the response that it holds, or an answer instead of
/// one.
class Session::Reply final : public http::Reply {
 public:
  explicit Reply(Session& session) : session_(session) {}

  Task<bool> send(int status, const http::Headers& fields, std::string_view body) override {
    start(status, fields, body.size());
    session_.out_.clear();  // of a response that is not to be seen
    state_ = State::kFinished;
    if (!can_tell()) co_return false;
    session_.reply(status, fields, body);
    co_return true;
  }

  void start(int status, const http::Headers& fields, std::optional<uint64_t> length) override {
    status_ = status;
    fields_ = fields;
    length_ = length;
    state_ = State::kPending;
  }

  Task<bool> flush() override {
    if (session_.cancelled_) state_ = State::kBroken;
    if (session_.owed_ == Part::kResponseHeaders && !broken()) session_.settle(false);
    co_return !broken();
  }

  Task<bool> write(std::string_view bytes, bool last) override {
    if (session_.cancelled_) state_ = State::kBroken;
    if (broken()) co_return false;
    if (session_.out_.size() + bytes.size() > kOutBytesMax) {
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

  void abandon() override {
    if (!broken()) state_ = State::kAbandoned;
    if (session_.forwarded_ && !session_.cancelled_) session_.settle(false);
    session_.end(Ending::kAborted, "the response has no end");
  }

  const http::Headers& fields() const { return fields_; }
  const std::optional<uint64_t>& length() const { return length_; }

 private:
  // Whether Envoy waits for something that an answer can take the place of.
  bool can_tell() {
    if (!session_.cancelled_ && session_.owed_) return true;
    state_ = State::kBroken;
    session_.end(Ending::kAborted, "the response has no end");
    return false;
  }

  Session& session_;
  http::Headers fields_;
  std::optional<uint64_t> length_;
};

/// What a server has said, as Envoy brings it. Asking for more says what becomes of what there was.
class Session::Answer final : public upstream::Answer {
 public:
  explicit Answer(Session& session) : session_(session) {}
  const http::Response& head() const override { return session_.head_; }
  bool ready() const override { return false; }

  Task<Result<upstream::Piece>> next() override {
    Session& s = session_;
    while (!s.whole_) {
      s.settle(false);
      std::optional<Message> message = co_await s.take();
      if (!message) {
        // Envoy does not send the body: it is not configured to.
        if (s.has_body_ || s.cancelled_ || s.ending_ != Ending::kDone)
          co_return tl::unexpected<Error>(s.gone());
        break;
      }
      const Part part = message->part;
      if (part != Part::kResponseBody && part != Part::kResponseTrailers) {
        s.end(Ending::kInvalid, fmt::format("{} within a response", name_of(part)));
        co_return tl::unexpected<Error>(s.gone());
      }
      s.owed_ = part;
      if (part == Part::kResponseTrailers) break;
      s.has_body_ = true;
      s.whole_ = message->last;
      s.piece_ = std::move(message->body);
      if (!s.piece_.empty()) co_return upstream::Piece{s.piece_, s.whole_};
    }
    s.whole_ = true;
    co_return upstream::Piece{{}, true};
  }

 private:
  Session& session_;
};

Session::Session(Site& site, http::asio::io_context& loop, Channel& channel)
    : site_(site), channel_(channel), loop_(loop), signal_(loop), deadline_(loop, [this] {
        on_deadline();
      }) {}

Session::~Session() {
  let_go();
}

void Session::start(const std::shared_ptr<Session>& self) {
  auto ended = [](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log::error("extproc", "a session failed: {}", e.what());
    }
  };
  self->enter(Phase::kReading, self->site_.limits.body_timeout);
  self->channel_.read();
  http::asio::co_spawn(self->loop_, run(self), std::move(ended));
}

Task<> Session::run(std::shared_ptr<Session> self) {
  Session& s = *self;
  const bool whole = co_await s.receive_request();
  if (whole) co_await s.handle();
  co_await s.see_off();
  s.deadline_.clear();
  s.channel_.finish(s.ending_, std::move(s.why_));
}

// --- what comes ---

void Session::receive(std::string_view message) {
  Result<Message> read = read_message(message);
  if (!read) {
    end(Ending::kInvalid, std::move(read.error().message));
    return closed(false);
  }
  inbox_ = std::move(*read);
  wake();
}

void Session::closed(bool cancelled) {
  over_ = true;
  cancelled_ = cancelled_ || cancelled;
  // Who waits for a response is told by take() that there will be none.
  if (cancelled_ || !forwarded_) interrupt_.raise(Code::kCancelled);
  wake();
}

void Session::wake() {
  signal_.cancel();
}

Task<std::optional<Message>> Session::take() {
  while (!inbox_ && !over_) {
    signal_.expires_at(http::Clock::time_point::max());
    co_await signal_.async_wait(http::kAwait);
  }
  if (!inbox_ || ending_ != Ending::kDone) co_return std::nullopt;
  std::optional<Message> out = std::exchange(inbox_, std::nullopt);
  channel_.read();
  co_return out;
}

void Session::enter(Phase phase, std::chrono::milliseconds limit) {
  phase_ = phase;
  deadline_.set(limit);
}

void Session::on_deadline() {
  if (phase_ == Phase::kReading) {
    end(Ending::kLate, "the request took too long to arrive");
  } else {
    // Envoy would let the rest of a response pass unseen, were it told that all is well.
    end(Ending::kLate, "the response took too long");
    interrupt_.raise(Code::kDeadline);
    if (phase_ == Phase::kHandling) enter(Phase::kGrace, kGraceLimit);
  }
  over_ = true;
  wake();
}

Error Session::gone() const {
  return interrupt_.raised() ? interrupt_.error() : Error{Code::kCancelled, "the client has gone"};
}

// --- the request ---

bool Session::hold(size_t bytes) {
  const uint64_t before = site_.body_bytes.fetch_add(bytes, std::memory_order_relaxed);
  held_ += bytes;
  return before + bytes <= site_.limits.bodies_bytes_max;
}

void Session::let_go() {
  request_.body = {};
  site_.body_bytes.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed);
}

// False: it is refused.
bool Session::begin(Message& head) {
  if (head.part != Part::kRequestHeaders) {
    end(Ending::kInvalid, fmt::format("{} before request_headers", name_of(head.part)));
    return false;
  }
  if (head.observes) {
    end(Ending::kUnprepared, "observability_mode: requests cannot be routed without answers");
    return false;
  }
  if (head.request_mode == BodyMode::kFullDuplex || head.response_mode == BodyMode::kFullDuplex) {
    end(Ending::kUnprepared,
        "FULL_DUPLEX_STREAMED is not built; bodies are BUFFERED or STREAMED here");
    return false;
  }
  if (head.method.empty() || head.path.empty()) {
    end(Ending::kInvalid, "request_headers without :method or :path");
    return false;
  }
  owed_ = Part::kRequestHeaders;
  if (head.headers.wire().size() > site_.limits.header_bytes_max) {
    refuse(431, fmt::format("the request header is longer than {} bytes",
                            site_.limits.header_bytes_max));
    return false;
  }
  request_.method = std::move(head.method);
  request_.target = std::move(head.path);
  request_.headers = std::move(head.headers);
  if (!request_.headers.find("host")) request_.headers.add("host", head.authority);
  return true;
}

// True: it is whole, and Envoy waits for what becomes of it.
Task<bool> Session::receive_request() {
  std::optional<Message> message = co_await take();
  if (!message || !begin(*message)) co_return false;
  while (!message->last) {
    answer({.part = *owed_,
            .body = message->part == Part::kRequestBody ? std::optional<std::string_view>("")
                                                        : std::nullopt});
    message = co_await take();
    if (!message) co_return false;
    if (message->part != Part::kRequestBody) {
      // Nothing may pass that nobody has looked at.
      end(Ending::kUnprepared, fmt::format("{} before the end of the request's body: "
                                           "request_body_mode has to be BUFFERED or STREAMED, and "
                                           "trailers of requests are not built",
                                           name_of(message->part)));
      co_return false;
    }
    owed_ = Part::kRequestBody;
    const uint64_t size_max = site_.limits.body_bytes_max;
    if (request_.body.size() + message->body.size() > size_max) {
      refuse(413, fmt::format("the request body is longer than {} bytes", size_max));
      let_go();
      co_return false;
    }
    if (!hold(message->body.size())) {
      refuse(429, "the requests that are being answered take all the memory they may");
      let_go();  // others need not wait until Envoy is done with this one
      co_return false;
    }
    if (request_.body.empty()) {
      request_.body = std::move(message->body);
    } else {
      request_.body += message->body;
    }
  }
  co_return true;
}

Task<> Session::handle() {
  enter(Phase::kHandling, site_.timeout);
  gate_ = std::make_unique<Gate>(*this);
  reply_ = std::make_unique<Reply>(*this);
  desk_ = site_.find(request_, *gate_);
  const http::Exchange exchange{request_, *reply_, interrupt_};
  try {
    co_await desk_.handler(exchange);
  } catch (const std::exception& e) {
    log::error("extproc", "a handler failed: {}", e.what());
  }
  desk_ = {};
  if (!reply_->started() && !over_) refuse(500, "the router failed to answer");
  if (forwarded_ && !reply_->finished()) end(Ending::kAborted, "the response has no end");
}

// What is left of the server's response is not wanted; Envoy says when it is done.
Task<> Session::see_off() {
  while (ending_ == Ending::kDone) {
    const std::optional<Message> message = co_await take();
    if (!message) co_return;
    if (answered_) continue;
    Verdict verdict{message->part};
    if (message->part == Part::kResponseBody) verdict.body = "";
    answer(verdict);
  }
}

// Sends the request on its way, and waits for the header of a response.
Task<upstream::Outcome> Session::forward(const config::Model& model, const upstream::Call& call) {
  upstream::Outcome out;
  if (forwarded_ || owed_ != Part::kRequestBody) {
    out.answer = fail(Code::kUnsupported, "a request without a body cannot go on");
    co_return out;
  }
  const upstream::Destination& to = desk_.destinations->choose(model.name, draw());
  http::Headers wanted;
  to.outgoing.each(call, [&wanted](std::string_view name, std::string_view value) {
    if (!http::iequals(name, kSelectedModel)) wanted.add(name, value);
  });
  wanted.add(kSelectedModel, model.name);
  if (!to.endpoint.empty()) wanted.add(kDestination, to.endpoint);
  Verdict verdict{Part::kRequestBody, difference(request_.headers, wanted), call.body,
                  desk_.clears_route};
  const std::string path = to.path_prefix + std::string(call.target);
  if (path != request_.target) verdict.headers.set.push_back({":path", path});
  if (request_.headers.find(kContentLength)) verdict.headers.removed.emplace_back(kContentLength);
  answer(verdict);
  forwarded_ = true;
  ++out.attempts;
  std::optional<Message> message = co_await take();
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
  whole_ = message->last;
  head_.status = message->status == 0 ? 200 : message->status;
  head_.headers = std::move(message->headers);
  head_.content_length = length_of(head_.headers);
  out.answer = std::make_unique<Answer>(*this);
  co_return out;
}

// --- what is answered ---

void Session::answer(Verdict verdict) {
  owed_.reset();
  channel_.send(write(verdict));
}

void Session::reply(int status, const http::Headers& fields, std::string_view body) {
  if (!owed_) return;
  owed_.reset();
  answered_ = true;
  channel_.send(write_reply(status, difference({}, fields), body));
}

void Session::refuse(int status, std::string_view message) {
  http::Headers fields;
  fields.add("content-type", "application/json");
  if (status == 429) fields.add("retry-after", "1");
  reply(status, fields, site_.error_body(status, message));
}

// The response's header, made what the reply's is.
Verdict Session::told_header(bool last) const {
  Verdict out{*owed_, difference(head_.headers, reply_->fields())};
  if (reply_->status() != head_.status)
    out.headers.set.push_back({":status", std::to_string(reply_->status())});
  const bool keeps_length = reply_->length() && reply_->length() == head_.content_length;
  if (!keeps_length && head_.headers.find(kContentLength))
    out.headers.removed.emplace_back(kContentLength);
  if (owed_ == Part::kResponseHeaders && !last && is_event_stream(head_.headers))
    out.response_mode = BodyMode::kStreamed;
  return out;
}

// Says what becomes of what Envoy has brought last. `last`: nothing of the response follows.
void Session::settle(bool last) {
  if (!owed_ || !forwarded_) return;
  const bool knows = reply_->started() && !told_;
  if (!out_.empty() && owed_ != Part::kResponseBody) {
    // There is no body of Envoy's that this could take the place of.
    if (owed_ == Part::kResponseHeaders && last)
      return reply(reply_->status(), reply_->fields(), std::exchange(out_, {}));
    return end(Ending::kAborted, "a response with trailers cannot be changed any more");
  }
  Verdict verdict = knows ? told_header(last) : Verdict{*owed_};
  told_ = told_ || knows;
  // Its body has to be read before it is known what it becomes.
  if (owed_ == Part::kResponseHeaders && !knows) verdict.response_mode = BodyMode::kBuffered;
  if (owed_ == Part::kResponseBody && out_ != piece_) verdict.body = out_;
  answer(verdict);
  out_.clear();
}

void Session::end(Ending ending, std::string why) {
  if (ending_ != Ending::kDone) return;
  ending_ = ending;
  why_ = std::move(why);
}

}  // namespace signalbox::extproc
