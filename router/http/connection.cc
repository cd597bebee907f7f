// One coroutine serves a connection from its first request to its close. A connection has one
// deadline, whose meaning depends on the phase; on_deadline() decides it.

#include "router/http/connection.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <exception>
#include <new>
#include <utility>

#include "base/log.h"
#include "router/http/error_reply.h"

namespace signalbox::http {
namespace {

constexpr size_t kReadSize = 8 << 10;       // holds a chat request of a few turns in one read
constexpr size_t kBodyReadSize = 64 << 10;  // for a body that does not fit into kReadSize
constexpr size_t kPipelinedMax = 64 << 10;  // bytes read ahead while a request is handled
// Time to write the error reply after the listener's timeout has passed.
constexpr std::chrono::milliseconds kGraceLimit{5'000};
// Time to wait for the client's close after the last reply. A close with unread bytes would reset
// the connection and could destroy the reply on its way.
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

uint32_t AddressCounter::enter(const std::string& address) {
  const std::lock_guard lock(mutex_);
  return ++counts_[address];
}

void AddressCounter::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(address);
  if (--found->second == 0) counts_.erase(found);
}

Connection::Connection(Socket socket, std::string address, ServerState& shared,
                       const ListenerState& state, LoopConnections& connections)
    : stream_(std::move(socket)),
      address_(std::move(address)),
      shared_(shared),
      listener_state_(state),
      connections_(connections),
      next_(connections.first),
      deadline_(loop_of(stream_.socket().get_executor()), [this] { on_deadline(); }),
      watch_(loop_of(stream_.socket().get_executor()), [this] { watch_socket(); }) {
  if (next_ != nullptr) next_->previous_ = this;
  connections_.first = this;
  request_.peer = address_;
  request_.memory = MemoryShare(shared_.memory);
}

Connection::~Connection() {
  (previous_ != nullptr ? previous_->next_ : connections_.first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  request_.memory.lower(0);  // the bound ends with the last connection
  shared_.addresses.leave(address_);
  shared_.open_connections.leave();
}

// Returns the memory that the body needs with the received bytes.
uint64_t Connection::bytes_to_read() const {
  const size_t before = request_.body.size(), after = before + in_.size();
  // While a text grows, its bytes are there twice.
  return after > request_.body.capacity() ? before + after : after;
}

// Waits until the request may hold that many bytes, its client has gone, or the deadline of its
// body has passed. Returns nullopt if the request has its memory.
Task<std::optional<Connection::Received>> Connection::wait_for_room(uint64_t bytes) {
  MemoryShare& memory = request_.memory;
  room_ = std::make_shared<Timer>(stream_.socket().get_executor(), Clock::time_point::max());
  if (timed_out_) wake(*room_);
  // Unread bytes would end any wait for the socket at once, so look now and then.
  std::optional<Deadline> look;
  look.emplace(loop_of(stream_.socket().get_executor()), [this, &look] {
    gone_ = stream_.has_hung_up();
    if (gone_) return wake(*room_);
    look->set(kDeadlinePeriod);
  });
  look->set(kDeadlinePeriod);
  const Raise raised = co_await memory.wait(bytes, room_, gone_);
  look.reset();
  room_ = nullptr;
  if (gone_) co_return Received::kEnd;
  if (raised == Raise::kDone) co_return std::nullopt;
  Error error = memory.refusal(raised);
  Refusal full{error_kind(error.code).status, std::move(error.message)};
  co_return co_await refuse(std::move(full));
}

// Swaps the string, because an assignment would keep the memory.
void Connection::free_body() {
  std::string().swap(request_.body);
  request_.memory.lower(0);
}

void Connection::drain() {
  keep_alive_ = false;
  if (phase_ == Phase::kIdle && in_.empty()) {
    ErrorCode ignored;
    stream_.socket().close(ignored);
  }
}

void Connection::expire(std::string limit) {
  if (phase_ != Phase::kHandling) return;
  enter(Phase::kGrace, kGraceLimit);
  interrupt_->raise(Code::kDeadline, std::move(limit));
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
      if (room_) wake(*room_);
      return;
    case Phase::kHandling:
      return expire(fmt::format("{} ms, the timeout of the listener \"{}\"",
                                listener_state_.listener.timeout.count(),
                                listener_state_.listener.name));
    case Phase::kIdle:
    case Phase::kGrace:
    case Phase::kLinger:
      stream_.socket().close(ignored);
      return;
  }
}

Task<> Connection::serve(std::shared_ptr<Connection> self, bool admitted) {
  Connection& c = *self;
  if (c.listener_state_.tls != nullptr && !co_await c.accept_tls()) co_return;
  if (!admitted) {
    ++c.shared_.refused_connections;
    Refusal full{503, "the router has too many connections open, from this address or in total"};
    co_await c.refuse(std::move(full));
    co_await c.linger();
    co_return;
  }
  do {
    bool has_memory = true;
    Received received = Received::kRefused;
    try {
      received = co_await c.receive();
    } catch (const std::bad_alloc&) {
      has_memory = false;
    }
    if (!has_memory) {
      Refusal full{500, "the router has too little memory for the request"};
      co_await c.refuse(std::move(full));
    }
    if (received == Received::kEnd) co_return;
    if (received == Received::kRefused) break;
    co_await c.handle();
    c.free_body();  // what an idle connection holds is not counted
    if (c.gone_) co_return;
  } while (c.keep_alive_);
  co_await c.linger();
}

Task<bool> Connection::accept_tls() {
  enter(Phase::kHeader, shared_.limits.header_timeout);
  const ErrorCode error = co_await stream_.accept(*listener_state_.tls);
  if (error)
    log::debug("http", "{}: the TLS handshake failed: {}", listener_state_.listener.name,
               error.message());
  co_return !error;
}

Task<Connection::Received> Connection::receive() {
  request_.headers.clear();
  request_.key = nullptr;
  timed_out_ = false;  // the last body may have got its memory just when its time was up
  RequestParser parser(request_, shared_.limits.header_bytes_max, shared_.limits.body_bytes_max);
  enter(Phase::kIdle, shared_.limits.idle_timeout);
  size_t read_size = kReadSize;
  for (;;) {
    if (!in_.empty()) {
      if (phase_ == Phase::kIdle) enter(Phase::kHeader, shared_.limits.header_timeout);
      if (phase_ == Phase::kBody && !request_.memory.enter(bytes_to_read())) {
        const std::optional<Received> ended = co_await wait_for_room(bytes_to_read());
        if (ended) co_return *ended;
      }
      auto used = parser.feed(in_.view());
      if (!used) {
        Refusal refusal = std::move(used).error();
        co_return co_await refuse(std::move(refusal));
      }
      in_.consume(*used);
      // Count the copies of a body as soon as it is whole.
      const uint64_t whole = (parser.done() ? kBodyCopies : 1) * request_.body.size();
      if (!request_.memory.enter(whole)) {
        const std::optional<Received> ended = co_await wait_for_room(whole);
        if (ended) co_return *ended;
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
  free_body();  // other requests need not wait until this client has read its reply
  SocketReply reply(stream_, request_, false);
  Headers fields;
  fields.add("Content-Type", "application/json");
  if (refusal.status == 429 || refusal.status == 503) fields.add("Retry-After", kRetryAfter);
  const std::string body = shared_.error_body(refusal.status, refusal.message);
  co_await reply.send(refusal.status, fields, body);
  log::debug("http", "{}: {} {}", listener_state_.listener.name, refusal.status, refusal.message);
  co_return Received::kRefused;
}

Task<> Connection::handle() {
  enter(Phase::kHandling, listener_state_.listener.timeout);
  // A watch takes two system calls. It begins only with the next sweep of deadlines, so most
  // requests end without one.
  Interrupt interrupt([this] { watch_.set(std::chrono::milliseconds(0)); });
  interrupt_ = &interrupt;
  SocketReply reply(stream_, request_, keep_alive_);
  const Exchange exchange{request_, reply, interrupt};
  try {
    co_await listener_state_.handler(exchange);
  } catch (const std::exception& e) {
    log::error("http", "{}: a handler failed: {}", listener_state_.listener.name, e.what());
  }
  watch_.clear();
  stop_watch_.emit(asio::cancellation_type::terminal);
  interrupt_ = nullptr;
  gone_ = gone_ || reply.broken();
  keep_alive_ = keep_alive_ && reply.keep_alive() && reply.finished();
  if (!reply.started() && !gone_) {
    Refusal unanswered{500, "the router did not produce a reply"};
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

void Connection::watch_socket() {
  // This waits for readiness and does not read: bytes that the client sends now belong to its next
  // request, and in_ takes them only while it has room.
  auto readable = [self = shared_from_this()](const ErrorCode& error) {
    if (!error) self->on_readable();
  };
  stream_.socket().async_wait(
      Socket::wait_read, asio::bind_cancellation_slot(stop_watch_.slot(), std::move(readable)));
}

void Connection::on_readable() {
  if (interrupt_ == nullptr) return;
  // When the buffer is full, a client that disconnects is noticed when a write to it fails.
  if (in_.size() >= kPipelinedMax) return;
  const ErrorCode error = in_.receive_now(stream_, kReadSize);
  if (!error || error == asio::error::would_block) return watch_socket();
  // A half-closed connection counts as closed, as it does for most proxies. A client that still
  // wants its reply keeps its side open.
  gone_ = true;
  interrupt_->raise(Code::kCancelled);
}

}  // namespace signalbox::http
