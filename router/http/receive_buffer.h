#pragma once
// Bytes that have arrived.

#include <string>
#include <string_view>

#include "router/http/stream.h"

namespace signalbox::http {

/// What was received and not yet used.
class ReceiveBuffer {
 public:
  std::string_view view() const { return {bytes_.data() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  void consume(size_t size);

  /// Reads once, at most `size` bytes, when some arrive. An end of the stream is asio::error::eof.
  Task<ErrorCode> receive(Stream& stream, size_t size);
  /// The same without waiting: would_block when there is nothing. Precondition: its socket is
  /// non-blocking.
  ErrorCode receive_now(Stream& stream, size_t size);

 private:
  asio::mutable_buffer room(size_t size);

  std::string bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace signalbox::http
