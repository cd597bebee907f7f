// One coroutine a session: read the request, let it be handled, see Envoy off. What comes waits in
// an inbox of one message until the coroutine asks, and the next is read only then, so that Envoy's
// pace is ours.

#include "router/extproc/session.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "base/log.h"
#include "router/extproc/ends.h"
#include "router/extproc/mutation.h"

namespace signalbox::extproc {
namespace {

using http::Task;

// After the timeout: for telling the client so.
constexpr std::chrono::milliseconds kGraceLimit{5'000};
// Between what gRPC tells of one cancelled stream: that no more is read, and that it was cancelled.
constexpr std::chrono::milliseconds kCancelLimit{100};
constexpr int kErrorStatus = 400;  // and above

}  // namespace

Session::Session(Site& site, http::asio::io_context& loop, Channel& channel)
    : site_(site), channel_(channel), loop_(loop), signal_(loop), deadline_(loop, [this] {
        on_deadline();
      }) {}

Session::~Session() {
  let_go();
}

void Session::start(const std::shared_ptr<Session>& self) {
  auto ended = [self](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log::error("extproc", "a session failed: {}", e.what());
    }
    self->channel_.finish(Ending::kAborted, "the router failed to answer");
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

// For a moment; after the end of what is read.
Task<> Session::hear_of_cancel() {
  const auto until = http::Clock::now() + kCancelLimit;
  while (!cancelled_ && http::Clock::now() < until) {
    signal_.expires_at(until);
    co_await signal_.async_wait(http::kAwait);
  }
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
  const bool partial = head.request_mode == BodyMode::kBufferedPartial;
  if (!head.last && (partial || head.response_mode == BodyMode::kBufferedPartial)) {
    end(Ending::kUnprepared, fmt::format("{}_body_mode: BUFFERED_PARTIAL leaves a part unseen",
                                         partial ? "request" : "response"));
    return false;
  }
  if (head.method.empty() || head.path.empty()) {
    end(Ending::kInvalid, "request_headers without :method or :path");
    return false;
  }
  owed_ = Part::kRequestHeaders;
  raw_ = head.raw;
  const size_t line_bytes = head.method.size() + head.path.size() + head.authority.size();
  if (line_bytes + head.headers.wire().size() > site_.limits.header_bytes_max) {
    refuse(431, fmt::format("the request header is longer than {} bytes",
                            site_.limits.header_bytes_max));
    return false;
  }
  duplex_request_ = head.request_mode == BodyMode::kFullDuplex;
  duplex_response_ = head.response_mode == BodyMode::kFullDuplex;
  request_mode_ = head.request_mode;
  response_mode_ = head.response_mode;
  one_response_body_ = head.response_mode == BodyMode::kBuffered;
  request_.method = std::move(head.method);
  request_.target = std::move(head.path);
  request_.headers = std::move(head.headers);
  if (!request_.headers.find("host")) request_.headers.add("host", head.authority);
  gate_ = std::make_unique<Gate>(*this);
  desk_ = site_.find(request_, *gate_);
  return true;
}

// True: it is whole, and Envoy waits for what becomes of it.
Task<bool> Session::receive_request() {
  std::optional<Message> message = co_await take();
  if (!message || !begin(*message)) co_return false;
  const bool is_one = request_mode_ == BodyMode::kBuffered;
  while (!message->last && !has_request_trailers_ && !(is_one && has_request_body_)) {
    // Where it is streamed both ways Envoy goes on without an answer, and there is none yet.
    if (!duplex_request_ && has_request_body_) answer({.part = *owed_, .body = ""});
    if (!duplex_request_ && !has_request_body_)
      answer({.part = *owed_, .headers = stripping(), .clears_route = true});
    message = co_await take();
    if (!message || !add(*message)) co_return false;
  }
  co_return true;
}

// A piece of the request's body, or its trailers. False: it is refused, by us or with an error of
// Envoy's own, which older ones show (413, 408).
bool Session::add(Message& message) {
  has_request_trailers_ = duplex_request_ && message.part == Part::kRequestTrailers;
  if (has_request_trailers_) return true;
  if (message.part == Part::kResponseHeaders && message.status >= kErrorStatus) {
    is_refused_ = true;
    enter(Phase::kHandling, site_.timeout);
    answer({.part = message.part});
    return false;
  }
  if (message.part != Part::kRequestBody) {
    // Nothing may pass that nobody has looked at.
    end(Ending::kUnprepared,
        fmt::format("{} before the end of the request's body: request_body_mode has to be "
                    "BUFFERED, STREAMED where nobody sends trailers, or FULL_DUPLEX_STREAMED",
                    name_of(message.part)));
    return false;
  }
  has_request_body_ = true;
  owed_ = Part::kRequestBody;
  const uint64_t size_max = site_.limits.body_bytes_max;
  if (request_.body.size() + message.body.size() > size_max) {
    refuse(413, fmt::format("the request body is longer than {} bytes", size_max));
    let_go();
    return false;
  }
  if (!hold(message.body.size())) {
    refuse(429, "the requests that are being answered take all the memory they may");
    let_go();  // others need not wait until Envoy is done with this one
    return false;
  }
  if (request_.body.empty()) {
    request_.body = std::move(message.body);
  } else {
    request_.body += message.body;
  }
  return true;
}

Task<> Session::handle() {
  enter(Phase::kHandling, site_.timeout);
  reply_ = std::make_unique<Reply>(*this);
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

// What is left of the request, and of a response that is none of Envoy's own, is not wanted; Envoy
// says when it is done.
Task<> Session::see_off() {
  while (ending_ == Ending::kDone) {
    const std::optional<Message> message = co_await take();
    if (!message) co_return;
    const Part part = message->part;
    const bool is_request = part == Part::kRequestBody || part == Part::kRequestTrailers;
    const bool is_wanted = is_refused_ && !is_request;
    const bool is_streamed =
        is_request ? duplex_request_ : duplex_response_ && part != Part::kResponseHeaders;
    if (answered_ || (is_streamed && !is_wanted)) continue;
    if (is_streamed && part == Part::kResponseBody) {
      stream(part, message->body, message->last);
      continue;
    }
    const bool is_body = part == Part::kRequestBody || part == Part::kResponseBody;
    Verdict verdict{part};
    if (is_body && !is_wanted) verdict.body = "";
    answer(verdict);
  }
}

// --- what is answered ---

void Session::answer(Verdict verdict) {
  owed_.reset();
  verdict.headers.raw = raw_;
  channel_.send(write(verdict));
}

void Session::reply(int status, const http::Headers& fields, std::string_view body) {
  if (!owed_) return;
  owed_.reset();
  answered_ = true;
  Mutation headers = difference({}, fields);
  headers.raw = raw_;
  channel_.send(write_reply(status, headers, body));
}

void Session::refuse(int status, std::string_view message) {
  http::Headers fields;
  fields.add("content-type", "application/json");
  if (status == 429) fields.add("retry-after", "1");
  reply(status, fields, site_.error_body(status, message));
}

void Session::end(Ending ending, std::string why) {
  if (ending_ != Ending::kDone) return;
  ending_ = ending;
  why_ = std::move(why);
}

}  // namespace signalbox::extproc
