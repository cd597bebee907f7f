// Writing tries at once and waits only for what the socket did not take: a reply nearly always
// fits, and then costs one system call and no trip through the loop.

#include "router/http/transfer.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstring>

namespace signalbox::http {
namespace {

void drop(std::array<std::string_view, 3>& pieces, size_t size) {
  for (auto& piece : pieces) {
    const size_t step = std::min(size, piece.size());
    piece.remove_prefix(step);
    size -= step;
  }
}

bool empty(const std::array<std::string_view, 3>& pieces) {
  return pieces[0].empty() && pieces[1].empty() && pieces[2].empty();
}

std::array<asio::const_buffer, 3> buffers(const std::array<std::string_view, 3>& pieces) {
  return {asio::buffer(pieces[0].data(), pieces[0].size()),
          asio::buffer(pieces[1].data(), pieces[1].size()),
          asio::buffer(pieces[2].data(), pieces[2].size())};
}

}  // namespace

Task<ErrorCode> write_all(Socket& socket, std::string_view first, std::string_view second,
                          std::string_view third) {
  std::array<std::string_view, 3> pieces{first, second, third};
  ErrorCode now;
  drop(pieces, socket.write_some(buffers(pieces), now));
  if (now && now != asio::error::would_block) co_return now;
  while (!empty(pieces)) {
    const auto rest = buffers(pieces);
    const auto [error, size] = co_await socket.async_write_some(rest, kAwait);
    if (error) co_return error;
    drop(pieces, size);
  }
  co_return ErrorCode{};
}

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

Task<ErrorCode> ReceiveBuffer::receive(Socket& socket, size_t size) {
  const auto into = room(size);
  const auto [error, received] = co_await socket.async_read_some(into, kAwait);
  end_ += received;
  co_return error;
}

ErrorCode ReceiveBuffer::receive_now(Socket& socket, size_t size) {
  ErrorCode error;
  end_ += socket.read_some(room(size), error);
  return error;
}

}  // namespace signalbox::http
