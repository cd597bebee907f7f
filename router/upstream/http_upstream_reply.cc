// Interim (1xx) responses are read and dropped. The body is passed on as it came, in its own
// encoding.

#include "router/upstream/http_upstream_reply.h"

#include <utility>

namespace signalbox::upstream {
namespace {

constexpr size_t kReadSize = 16 << 10;

}  // namespace

HttpUpstreamReply::HttpUpstreamReply(std::unique_ptr<Channel> channel, http::Interrupt& interrupt,
                                     std::string_view name, const std::string& address,
                                     const config::HttpLimits& limits)
    : channel_(std::move(channel)),
      interrupt_(interrupt),
      name_(name),
      address_(address),
      limits_(limits),
      parser_(std::in_place, response_, limits.reply_header_bytes_max) {
  scope_.emplace(interrupt_, [socket = &channel_->stream.socket()] {
    http::ErrorCode ignored;
    socket->close(ignored);
  });
}

Error HttpUpstreamReply::failed(Error error) const {
  if (interrupt_.raised()) error = interrupt_.error();
  error.message = fmt::format("backend \"{}\": {}", name_, error.message);
  return error;
}

bool HttpUpstreamReply::was_stale() const {
  return channel_->reused && closed_by_peer_ && !parser_->started() && !interrupt_.raised();
}

http::Task<Result<void>> HttpUpstreamReply::begin(std::string_view head, std::string_view body) {
  // Ignore a failed write: a server may refuse a request early and close, and its reply then gives
  // the reason.
  co_await channel_->stream.write_all(head, body);
  for (;;) {
    while (!parser_->header_done()) {
      const Result<void> received = co_await receive();
      if (!received) co_return received;
    }
    if (response_.status / 100 != 1) break;
    if (response_.status == 101) {
      Error switched{Code::kUpstream, "it switched protocols without a request for that"};
      co_return tl::unexpected<Error>(failed(std::move(switched)));
    }
    response_ = {};
    parser_.emplace(response_, limits_.reply_header_bytes_max);
    const Result<void> fed = feed();
    if (!fed) co_return fed;
  }
  co_return Result<void>{};
}

http::Task<Result<void>> HttpUpstreamReply::receive() {
  const http::ErrorCode error = co_await channel_->in.receive(channel_->stream, kReadSize);
  if (!error) co_return feed();
  if (nudged_ && error == http::asio::error::operation_aborted && !interrupt_.raised())
    co_return Result<void>{};
  closed_by_peer_ = true;
  if (error == http::asio::error::eof) {
    auto end = parser_->end();
    if (end) co_return end;
    co_return tl::unexpected<Error>(failed(std::move(end).error()));
  }
  Error broken{Code::kUpstream, error.message()};
  co_return tl::unexpected<Error>(failed(std::move(broken)));
}

Result<void> HttpUpstreamReply::feed() {
  http::ReceiveBuffer& in = channel_->in;
  while (!in.empty() && !parser_->done()) {
    const bool header = !parser_->header_done();
    auto used = parser_->feed(in.view());
    if (!used) return tl::unexpected<Error>(failed(std::move(used).error()));
    in.consume(*used);
    // An interim header is followed by the next response and not by a body.
    if (header && parser_->header_done() && response_.status / 100 == 1) break;
    if (*used == 0) break;
  }
  return {};
}

http::Task<Result<Piece>> HttpUpstreamReply::next() {
  nudged_ = false;
  while (!ready() && !nudged_) {
    const Result<void> received = co_await receive();
    if (!received) co_return tl::unexpected<Error>(received.error());
  }
  std::swap(piece_, response_.body);
  response_.body.clear();
  const bool last = parser_->done();
  if (last) release();
  co_return Piece{piece_, last};
}

// The bytes that the cancelled read would have taken stay in the socket for the next read.
void HttpUpstreamReply::nudge() {
  if (channel_ == nullptr) return;
  nudged_ = true;
  http::ErrorCode ignored;
  channel_->stream.socket().cancel(ignored);
}

void HttpUpstreamReply::release() {
  scope_.reset();
  const bool reusable = parser_->keep_alive() && channel_->in.empty() && !closed_by_peer_;
  auto channel = std::move(channel_);
  if (!reusable) return;
  Pool& pool = Pool::of(http::loop_of(channel->stream.socket().get_executor()));
  pool.keep(address_, std::move(channel), limits_.upstream_idle_max, limits_.upstream_idle_timeout);
}

}  // namespace signalbox::upstream
