// Non-blocking, and waits with poll(): a time limit of the socket itself (SO_RCVTIMEO) begins anew
// with every byte.

#include "router/stores/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;

tl::unexpected<Error> failed(std::string_view what, int error) {
  return fail(Code::kIo, "{}: {}", what, std::generic_category().message(error));
}

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& host, uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) return fail(Code::kIo, "cannot resolve the name: {}", ::gai_strerror(error));
  return Addresses(found);
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Socket> Socket::connect(const std::string& host, uint16_t port, Until until) {
  SIGNALBOX_TRY(const Addresses addresses, resolve(host, port));
  Result<Socket> out = fail(Code::kIo, "the name has no address");
  for (const addrinfo* each = addresses.get(); each != nullptr && !out; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, each->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.fd_ < 0) return failed("socket", errno);
    if (::connect(socket.fd_, each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) {
      out = failed("connect", errno);
      continue;
    }
    SIGNALBOX_TRY_VOID(socket.wait(POLLOUT, until));
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      out = failed("connect", error);
      continue;
    }
    const int on = 1;  // an exchange is one command and its reply, so there is nothing to gather
    ::setsockopt(socket.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    out = std::move(socket);
  }
  return out;
}

Result<void> Socket::wait(short events, Until until) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Until::clock::now());
    if (left <= milliseconds(0)) return fail(Code::kDeadline, "no reply in time");
    pollfd request{fd_, events, 0};
    const int ready = ::poll(&request, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed("poll", errno);
  }
}

Result<void> Socket::send(std::string_view bytes, Until until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      SIGNALBOX_TRY_VOID(wait(POLLOUT, until));
    } else if (errno != EINTR) {
      return failed("send", errno);
    }
  }
  return {};
}

Result<size_t> Socket::receive(std::span<char> into, Until until) {
  for (;;) {
    const ssize_t received = ::recv(fd_, into.data(), into.size(), 0);
    if (received >= 0) return static_cast<size_t>(received);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      SIGNALBOX_TRY_VOID(wait(POLLIN, until));
    } else if (errno != EINTR) {
      return failed("receive", errno);
    }
  }
}

}  // namespace signalbox::stores
