// The life of a connection as one coroutine. Its deadline has one meaning a phase, decided in
// on_deadline().

#include "router/http/connection.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <exception>
#include <utility>

#include "base/log.h"

namespace signalbox::http {
namespace {

constexpr size_t kReadSize = 8 << 10;       // a chat request of a few turns in one read
constexpr size_t kBodyReadSize = 64 << 10;  // once a body is known not to fit that
constexpr size_t kPipelinedMax = 64 << 10;  // read ahead while a request is handled
// After the listener's timeout: for writing the error that says so.
constexpr std::chrono::milliseconds kGraceLimit{5'000};
// After the last reply: a close with unread bytes would reset the connection and could destroy the
// reply on its way.
constexpr std::chrono::milliseconds kLingerLimit{2'000};
constexpr std::string_view kRetryAfter = "1";  // seconds
constexpr size_t kLingerBytesMax = 1 << 20;

}  // namespace

void ConnectionCounter::leave() {
  if (count_.fetch_sub(1) != 1) return;
  const std::lock_guard lock(mutex_);
  empty_.notify_all();
}

bool ConnectionCounter::wait_until_empty(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, limit, [this] { return count_.load() == 0; });
}

Connection::Connection(Socket socket, Shared& shared, const Site& site, Population& population)
    : stream_(std::move(socket)),
      shared_(shared),
      site_(site),
      population_(population),
      next_(population.first),
      deadline_(loop_of(stream_.socket().get_executor()), [this] { on_deadline(); }) {
  if (next_ != nullptr) next_->previous_ = this;
  population_.first = this;
}

Connection::~Connection() {
  (previous_ != nullptr ? previous_->next_ : population_.first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  let_go();
  shared_.headcount.leave();
}

// Counts what the body has grown to. False: that is more than all may have.
bool Connection::hold(uint64_t bytes) {
  if (bytes <= held_) return true;
  const uint64_t more = bytes - held_;
  const uint64_t before = shared_.body_bytes.fetch_add(more, std::memory_order_relaxed);
  held_ = bytes;
  return before + more <= shared_.limits.bodies_bytes_max;
}

void Connection::let_go() {
  if (held_ > 0) shared_.body_bytes.fetch_sub(held_, std::memory_order_relaxed);
  held_ = 0;
}

void Connection::drain() {
  keep_alive_ = false;
  if (phase_ == Phase::kIdle && in_.empty()) {
    ErrorCode ignored;
    stream_.socket().close(ignored);
  }
}

void Connection::enter(Phase phase, std::chrono::milliseconds limit) {
  phase_ = phase;
  deadline_.set(limit);
}

void Connection::on_deadline() {
  ErrorCode ignored;
  switch (phase_) {
    case Phase::kHeader:
    case Phase::kBody:
      timed_out_ = true;
      stream_.socket().cancel(ignored);
      return;
    case Phase::kHandling:
      enter(Phase::kGrace, kGraceLimit);
      interrupt_->raise(Code::kDeadline,
                        fmt::format("{} ms, the timeout of the listener \"{}\"",
                                    site_.listener.timeout.count(), site_.listener.name));
      return;
    case Phase::kIdle:
    case Phase::kGrace:
    case Phase::kLinger:
      stream_.socket().close(ignored);
      return;
  }
}

Task<> Connection::serve(std::shared_ptr<Connection> self, bool admitted) {
  Connection& c = *self;
  if (c.site_.tls != nullptr && !co_await c.secure()) co_return;
  if (!admitted) {
    ++c.shared_.refused_connections;
    Refusal full{503, "the router has too many connections open"};
    co_await c.refuse(std::move(full));
    co_await c.linger();
    co_return;
  }
  do {
    const Received received = co_await c.receive();
    if (received == Received::kEnd) co_return;
    if (received == Received::kRefused) break;
    co_await c.handle();
    if (c.gone_) co_return;
  } while (c.keep_alive_);
  co_await c.linger();
}

Task<bool> Connection::secure() {
  enter(Phase::kHeader, shared_.limits.header_timeout);
  const ErrorCode error = co_await stream_.accept(*site_.tls);
  if (error) log::debug("http", "{}: no TLS: {}", site_.listener.name, error.message());
  co_return !error;
}

Task<Connection::Received> Connection::receive() {
  request_.headers.clear();
  request_.body.clear();
  let_go();
  RequestParser parser(request_, shared_.limits.header_bytes_max, shared_.limits.body_bytes_max);
  enter(Phase::kIdle, shared_.limits.idle_timeout);
  size_t read_size = kReadSize;
  for (;;) {
    if (!in_.empty()) {
      if (phase_ == Phase::kIdle) enter(Phase::kHeader, shared_.limits.header_timeout);
      auto used = parser.feed(in_.view());
      if (!used) {
        Refusal refusal = std::move(used).error();
        co_return co_await refuse(std::move(refusal));
      }
      in_.consume(*used);
      if (!hold(request_.body.size())) {
        ++shared_.refused_bodies;
        request_.body = {};
        let_go();  // others need not wait until this client has read its answer
        Refusal full{429, "the requests that are being answered take all the memory they may"};
        co_return co_await refuse(std::move(full));
      }
      if (parser.done()) {
        keep_alive_ = keep_alive_ && parser.keep_alive();
        co_return Received::kRequest;
      }
      if (phase_ == Phase::kHeader && parser.header_done()) {
        enter(Phase::kBody, shared_.limits.body_timeout);
        read_size = kBodyReadSize;
        if (!in_.empty()) continue;
        if (parser.expects_continue()) {
          const ErrorCode failed = co_await stream_.write_all("HTTP/1.1 100 Continue\r\n\r\n");
          if (failed) co_return Received::kEnd;
        }
      }
    }
    const ErrorCode error = co_await in_.receive(stream_, read_size);
    if (timed_out_) {
      Refusal slow{408, phase_ == Phase::kHeader ? "the request header took too long to arrive"
                                                 : "the request body took too long to arrive"};
      co_return co_await refuse(std::move(slow));
    }
    if (error) co_return Received::kEnd;
  }
}

Task<Connection::Received> Connection::refuse(Refusal refusal) {
  enter(Phase::kGrace, kGraceLimit);
  keep_alive_ = false;
  SocketReply reply(stream_, request_, false);
  Headers fields;
  fields.add("Content-Type", "application/json");
  if (refusal.status == 429 || refusal.status == 503) fields.add("Retry-After", kRetryAfter);
  const std::string body = shared_.error_body(refusal.status, refusal.message);
  co_await reply.send(refusal.status, fields, body);
  log::debug("http", "{}: {} {}", site_.listener.name, refusal.status, refusal.message);
  co_return Received::kRefused;
}

Task<> Connection::handle() {
  enter(Phase::kHandling, site_.listener.timeout);
  Interrupt interrupt([this] { watch(); });
  interrupt_ = &interrupt;
  SocketReply reply(stream_, request_, keep_alive_);
  const Exchange exchange{request_, reply, interrupt};
  try {
    co_await site_.handler(exchange);
  } catch (const std::exception& e) {
    log::error("http", "{}: a handler failed: {}", site_.listener.name, e.what());
  }
  stop_watch_.emit(asio::cancellation_type::terminal);
  interrupt_ = nullptr;
  gone_ = gone_ || reply.broken();
  keep_alive_ = keep_alive_ && reply.keep_alive() && reply.finished();
  if (!reply.started() && !gone_) {
    Refusal unanswered{500, "the router failed to answer"};
    co_await refuse(std::move(unanswered));
  }
}

Task<> Connection::linger() {
  enter(Phase::kLinger, kLingerLimit);
  co_await stream_.shut_down();
  size_t discarded = 0;
  while (discarded < kLingerBytesMax) {
    in_.consume(in_.size());
    const ErrorCode error = co_await in_.receive(stream_, kReadSize);
    if (error) break;
    discarded += in_.size();
  }
}

void Connection::watch() {
  // A readiness wait rather than a read: what the client sends ahead is its next request, and
  // belongs into in_ only while there is room for it.
  auto readable = [self = shared_from_this()](const ErrorCode& error) {
    if (!error) self->on_readable();
  };
  stream_.socket().async_wait(
      Socket::wait_read, asio::bind_cancellation_slot(stop_watch_.slot(), std::move(readable)));
}

void Connection::on_readable() {
  if (interrupt_ == nullptr) return;
  // Beyond this a client that goes is noticed when a write to it fails.
  if (in_.size() >= kPipelinedMax) return;
  const ErrorCode error = in_.receive_now(stream_, kReadSize);
  if (!error || error == asio::error::would_block) return watch();
  // A half-closed connection counts as gone, as it does for most proxies: a client that still wants
  // its answer keeps its side open.
  gone_ = true;
  interrupt_->raise(Code::kCancelled);
}

}  // namespace signalbox::http
