// One coroutine per session reads the request, handles it and finishes the stream with Envoy. An
// inbox holds one message until the coroutine takes it. Only then is the next one read, so that
// Envoy sends no faster than we handle.

#include "router/extproc/session.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "base/log.h"
#include "router/extproc/envoy_exchange.h"
#include "router/extproc/mutation.h"
#include "router/http/error_reply.h"

namespace signalbox::extproc {
namespace {

using http::Task;

// Time to send the error reply after the timeout.
constexpr std::chrono::milliseconds kGraceLimit{5'000};
// gRPC reports a cancelled stream in two events: the end of reading and the cancellation. This is
// the longest wait between them.
constexpr std::chrono::milliseconds kCancelLimit{100};
constexpr int kErrorStatus = 400;  // the first error status

}  // namespace

Session::Session(Site& site, http::asio::io_context& loop, Channel& channel)
    : site_(site), channel_(channel), loop_(loop), signal_(loop), deadline_(loop, [this] {
        on_deadline();
      }) {
  request_.memory = http::MemoryShare(site.memory);
  reply_memory_ = http::MemoryShare(site.memory);
}

Session::~Session() = default;

void Session::start(const std::shared_ptr<Session>& self) {
  auto ended = [self](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log::error("extproc", "a session failed: {}", e.what());
    }
    self->channel_.finish(Ending::kAborted, "the router did not produce a reply");
  };
  self->enter(Phase::kReading, self->site_.limits.body_timeout);
  self->channel_.read();
  http::asio::co_spawn(self->loop_, run(self), std::move(ended));
}

Task<> Session::run(std::shared_ptr<Session> self) {
  Session& s = *self;
  const bool whole = co_await s.receive_request();
  if (whole) co_await s.handle();
  co_await s.finish_stream();
  s.deadline_.clear();
  s.channel_.finish(s.ending_, std::move(s.why_));
}

// --- messages from Envoy ---

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
  // A coroutine that waits for a response learns from take() that none will come.
  if (cancelled_ || !forwarded_) interrupt_.raise(Code::kCancelled);
  if (room_) http::wake(*room_);
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

// Waits a moment for the cancellation event after the end of reading.
Task<> Session::wait_for_cancel() {
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
  if (room_) {  // reserve() refuses the request
    enter(Phase::kGrace, kGraceLimit);
    return http::wake(*room_);
  }
  if (phase_ == Phase::kReading) {
    end(Ending::kLate, "the request took too long to arrive");
  } else {
    // If the stream ended without an error, Envoy would pass the rest of the response on without
    // our inspection.
    end(Ending::kLate, "the response took too long");
    interrupt_.raise(Code::kDeadline);
    if (phase_ == Phase::kHandling) enter(Phase::kGrace, kGraceLimit);
  }
  over_ = true;
  wake();
}

Error Session::cancellation() const {
  return interrupt_.raised() ? interrupt_.error() : Error{Code::kCancelled, "the client has gone"};
}

// --- the request ---

void Session::release_body() {
  std::string().swap(request_.body);  // an assignment would keep the memory
  request_.memory.lower(0);
}

// Returns false if the request is refused.
bool Session::begin(Message& head) {
  if (head.part != Part::kRequestHeaders) {
    end(Ending::kInvalid, fmt::format("{} before request_headers", name_of(head.part)));
    return false;
  }
  if (head.observes) {
    end(Ending::kUnprepared,
        "observability_mode: the router cannot route requests whose answers Envoy ignores");
    return false;
  }
  const bool partial = head.request_mode == BodyMode::kBufferedPartial;
  if (!head.last && (partial || head.response_mode == BodyMode::kBufferedPartial)) {
    end(Ending::kUnprepared, fmt::format("{}_body_mode: BUFFERED_PARTIAL hides a part of the body",
                                         partial ? "request" : "response"));
    return false;
  }
  if (head.method.empty() || head.path.empty()) {
    end(Ending::kInvalid, "request_headers without :method or :path");
    return false;
  }
  pending_ = Part::kRequestHeaders;
  sends_raw_ = head.raw;
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
  held_ = request_.headers;
  caller_ = std::make_unique<EnvoyCaller>(*this);
  host_ = site_.find(request_, *caller_);
  return true;
}

// Returns true if the request is complete and Envoy waits for its new form.
Task<bool> Session::receive_request() {
  std::optional<Message> message = co_await take();
  if (!message || !begin(*message)) co_return false;
  const bool is_one = request_mode_ == BodyMode::kBuffered;
  while (!message->last && !has_request_trailers_ && !(is_one && has_request_body_)) {
    // In full duplex Envoy continues without an answer, and there is none to send yet.
    if (!duplex_request_ && has_request_body_) answer({.part = *pending_, .body = ""});
    if (!duplex_request_ && !has_request_body_)
      answer({.part = *pending_, .headers = strip_request(), .clears_route = true});
    message = co_await take();
    if (!message) co_return false;
    const bool is_added = co_await add(*message);
    if (!is_added) co_return false;
  }
  co_return true;
}

// Adds a piece of the request's body, or its trailers. Returns false if the request is refused, by
// us or by Envoy with an error of its own, which older versions pass through this filter (413,
// 408).
Task<bool> Session::add(Message& message) {
  has_request_trailers_ = duplex_request_ && message.part == Part::kRequestTrailers;
  if (has_request_trailers_) co_return true;
  if (message.part == Part::kResponseHeaders && message.status >= kErrorStatus) {
    is_refused_ = true;
    enter(Phase::kHandling, site_.timeout);
    answer({.part = message.part});
    co_return false;
  }
  if (message.part != Part::kRequestBody) {
    // No request may pass that was not inspected.
    end(Ending::kUnprepared,
        fmt::format("{} before the end of the request's body: request_body_mode must be "
                    "BUFFERED, STREAMED where nobody sends trailers, or FULL_DUPLEX_STREAMED",
                    name_of(message.part)));
    co_return false;
  }
  has_request_body_ = true;
  pending_ = Part::kRequestBody;
  const uint64_t size_max = site_.limits.body_bytes_max;
  if (request_.body.size() + message.body.size() > size_max) {
    refuse(413, fmt::format("the request body is longer than {} bytes", size_max));
    release_body();
    co_return false;
  }
  const bool has_room = co_await reserve(message.body.size());
  if (!has_room) co_return false;
  if (request_.body.empty()) {
    request_.body = std::move(message.body);
  } else {
    request_.body += message.body;
  }
  co_return true;
}

// Waits until there is room for the copies of a piece of the body, until Envoy has gone, or for the
// deadline of the body. Returns false if the request is refused.
Task<bool> Session::reserve(size_t piece) {
  http::MemoryShare& memory = request_.memory;
  const uint64_t before = memory.bytes(), wanted = before + http::kBodyCopies * piece;
  if (memory.enter(wanted)) co_return true;
  // The piece has arrived, so it counts once while it waits.
  http::Raise raised = memory.set(memory.never_fits(wanted) ? wanted : before + piece);
  if (raised == http::Raise::kDone) {
    request_time();
    room_ = std::make_shared<http::Timer>(loop_, http::Clock::time_point::max());
    if (over_) http::wake(*room_);
    raised = co_await memory.wait(wanted, room_, over_);
    room_ = nullptr;
    // The deadline may pass between the grant and this line.
    if (raised == http::Raise::kDone && phase_ == Phase::kGrace) raised = http::Raise::kFull;
  }
  if (raised == http::Raise::kDone) co_return true;
  const Error error = memory.refusal(raised);
  if (!over_) refuse(http::error_kind(error.code).status, error.message);
  release_body();  // other requests need not wait until Envoy has finished this one
  co_return false;
}

Task<> Session::handle() {
  enter(Phase::kHandling, site_.timeout);
  reply_ = std::make_unique<Reply>(*this);
  const http::Exchange exchange{request_, *reply_, interrupt_};
  try {
    co_await host_.handler(exchange);
  } catch (const std::exception& e) {
    log::error("extproc", "a handler failed: {}", e.what());
  }
  host_ = {};
  release_body();
  if (!reply_->started() && !over_) refuse(500, "the router did not produce a reply");
  if (forwarded_ && !reply_->finished()) end(Ending::kAborted, "the response has no end");
}

// Discards the rest of the request, and of a response unless Envoy made it itself, until Envoy ends
// the stream.
Task<> Session::finish_stream() {
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
    Continuation continuation{part};
    if (is_body && !is_wanted) continuation.body = "";
    answer(continuation);
  }
}

// --- messages to Envoy ---

void Session::answer(Continuation continuation) {
  pending_.reset();
  has_time_ = false;  // the next message has a time of its own
  continuation.headers.raw = sends_raw_;
  channel_.send(write(continuation));
}

void Session::reply(int status, const http::Headers& fields, std::string_view body) {
  if (!pending_) return;
  pending_.reset();
  answered_ = true;
  Mutation headers = difference({}, fields);
  headers.raw = sends_raw_;
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
