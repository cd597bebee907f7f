#pragma once
// Upstream connections that wait for their next request. Each loop has one pool.

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

/// The pool of one io_context, which owns it as a service. Asio shuts it down before the reactor,
/// which its sockets need.
class Pool : public http::asio::execution_context::service {
 public:
  static http::asio::execution_context::id id;
  explicit Pool(http::asio::execution_context& context);
  static Pool& of(http::asio::io_context& loop) { return http::asio::use_service<Pool>(loop); }

  /// Returns the most recently used connection to an address if one is still open, else null.
  std::unique_ptr<Channel> take(const std::string& address);
  /// Keeps an unused connection for at most `timeout`. If there are more than `idle_max`, the one
  /// that has been idle longest is closed.
  void keep(const std::string& address, std::unique_ptr<Channel> channel, uint32_t idle_max,
            std::chrono::milliseconds timeout);
  /// Closes all connections and cancels the timer, so that nothing of the pool keeps the loop
  /// running.
  void clear();

 private:
  void shutdown() override { clear(); }
  void prune();

  struct Shelf {
    std::deque<std::unique_ptr<Channel>> channels;  // longest idle first
    std::chrono::milliseconds timeout{};
  };
  std::map<std::string, Shelf> shelves_;
  http::Deadline pruning_;
};

}  // namespace signalbox::upstream
