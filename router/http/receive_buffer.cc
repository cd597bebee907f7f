// Makes room at the end: it moves the bytes to the front before it grows the buffer.

#include "router/http/receive_buffer.h"

#include <cstring>

namespace signalbox::http {

void ReceiveBuffer::consume(size_t size) {
  begin_ += size;
  if (begin_ == end_) begin_ = end_ = 0;
}

asio::mutable_buffer ReceiveBuffer::room(size_t size) {
  if (bytes_.size() - end_ < size) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (bytes_.size() < end_ + size) bytes_.resize(end_ + size);
  }
  return asio::buffer(bytes_.data() + end_, size);
}

Task<ErrorCode> ReceiveBuffer::receive(Stream& stream, size_t size) {
  const auto into = room(size);
  const Stream::Read read = co_await stream.read(into);
  end_ += read.size;
  co_return read.error;
}

ErrorCode ReceiveBuffer::receive_now(Stream& stream, size_t size) {
  const Stream::Read read = stream.read_now(room(size));
  end_ += read.size;
  return read.error;
}

}  // namespace signalbox::http
