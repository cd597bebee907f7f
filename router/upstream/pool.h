#pragma once
// Connections to upstreams that wait for their next request, one pool a loop.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "router/http/deadline.h"
#include "router/http/io.h"
#include "router/http/receive_buffer.h"

namespace signalbox::upstream {

/// A connection to an upstream.
struct Channel {
  explicit Channel(http::Socket socket) : stream(std::move(socket)) {}
  http::Stream stream;
  http::ReceiveBuffer in;
  bool reused = false;
  http::Clock::time_point idle_since{};
};

/// The pool of one io_context, which owns it as a service: Asio shuts it down before the reactor
/// that its sockets need.
class Pool : public http::asio::execution_context::service {
 public:
  static http::asio::execution_context::id id;
  explicit Pool(http::asio::execution_context& context);
  static Pool& of(http::asio::io_context& loop) { return http::asio::use_service<Pool>(loop); }

  /// The connection to an address that was used last and is still open, or none.
  std::unique_ptr<Channel> take(const std::string& address);
  /// Keeps a connection that is between requests, for at most `timeout`; the oldest of more than
  /// `idle_max` is closed.
  void keep(const std::string& address, std::unique_ptr<Channel> channel, uint32_t idle_max,
            std::chrono::milliseconds timeout);

 private:
  void shutdown() override;
  void prune();

  struct Shelf {
    std::deque<std::unique_ptr<Channel>> channels;  // longest idle first
    std::chrono::milliseconds timeout{};
  };
  std::map<std::string, Shelf> shelves_;
  http::Deadline pruning_;
};

}  // namespace signalbox::upstream
