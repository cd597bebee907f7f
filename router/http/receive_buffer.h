#pragma once
// A buffer for the bytes that a connection has received.

#include <string>
#include <string_view>

#include "router/http/stream.h"

namespace signalbox::http {

/// Holds the bytes that were received and not yet used.
class ReceiveBuffer {
 public:
  std::string_view view() const { return {bytes_.data() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  void consume(size_t size);

  /// Waits until bytes arrive and reads once, at most `size` bytes. Returns asio::error::eof at the
  /// end of the stream.
  Task<ErrorCode> receive(Stream& stream, size_t size);
  /// Reads without waiting; returns would_block if no bytes are there. Precondition: the socket is
  /// non-blocking.
  ErrorCode receive_now(Stream& stream, size_t size);

 private:
  asio::mutable_buffer room(size_t size);

  std::string bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace signalbox::http
