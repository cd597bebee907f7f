// Contains its own small HTTP reader, because tests must not check the parser with itself.

#include "tests/router/net/sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>

namespace signalbox::test {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int bound_socket(uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) ADD_FAILURE() << "bind failed";
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

void set_patience(int fd) {
  timeval limit{};
  limit.tv_sec = kPatience.count();
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void parse_headers(std::string_view head, std::map<std::string, std::string>& headers) {
  size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const size_t end = head.find("\r\n", at);
    if (end == at || end == std::string_view::npos) break;
    const std::string_view line = head.substr(at, end - at);
    const size_t colon = line.find(':');
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    headers[name] = line.substr(std::min(line.size(), line.find_first_not_of(' ', colon + 1)));
    at = end + 2;
  }
}

}  // namespace

Wire& Wire::operator=(Wire&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Wire Wire::connect(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ADD_FAILURE() << "cannot connect to port " << port;
  }
  set_patience(fd);
  return Wire(fd);
}

bool Wire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Wire::fill() {
  char bytes[16384];
  const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    ADD_FAILURE() << "waited too long for bytes";
  if (size <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(size));
  return true;
}

std::string Wire::read_until(std::string_view mark) {
  size_t found;
  while ((found = buffer_.find(mark)) == std::string::npos) {
    if (!fill()) return std::exchange(buffer_, {});
  }
  std::string out = buffer_.substr(0, found + mark.size());
  buffer_.erase(0, out.size());
  return out;
}

std::string Wire::read_exactly(size_t size) {
  while (buffer_.size() < size && fill()) {
  }
  std::string out = buffer_.substr(0, size);
  buffer_.erase(0, out.size());
  return out;
}

bool Wire::closed() {
  if (!buffer_.empty()) return false;
  char byte;
  const ssize_t size = ::recv(fd_, &byte, 1, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    ADD_FAILURE() << "waited too long for the other side to close";
    return false;
  }
  if (size > 0) buffer_.push_back(byte);
  return size <= 0;
}

Reply Wire::read_reply(bool head_request) {
  Reply reply;
  const std::string head = read_until("\r\n\r\n");
  if (!head.starts_with("HTTP/1.1 ")) {
    ADD_FAILURE() << "expected a response, found \"" << head << '"';
    return reply;
  }
  reply.status = std::stoi(head.substr(9, 3));
  parse_headers(head, reply.headers);
  if (head_request || reply.status == 204 || reply.status == 304 || reply.status / 100 == 1) {
    reply.complete = true;
  } else if (reply.has("transfer-encoding")) {
    reply.chunked = true;
    for (;;) {
      const std::string line = read_until("\r\n");
      if (!line.ends_with("\r\n")) return reply;
      const size_t size = std::stoul(line, nullptr, 16);
      std::string chunk = read_exactly(size + 2);
      if (chunk.size() < size + 2) {
        reply.body += chunk.substr(0, size);
        return reply;
      }
      chunk.resize(size);
      reply.body += chunk;
      if (size == 0) break;
    }
    reply.complete = true;
  } else if (reply.has("content-length")) {
    const size_t size = std::stoul(reply.headers["content-length"]);
    reply.body = read_exactly(size);
    reply.complete = reply.body.size() == size;
  } else {
    while (fill()) {
    }
    reply.body = std::exchange(buffer_, {});
    reply.complete = true;
  }
  return reply;
}

std::string Wire::read_request() {
  std::string head = read_until("\r\n\r\n");
  std::map<std::string, std::string> headers;
  parse_headers(head, headers);
  if (const auto length = headers.find("content-length"); length != headers.end()) {
    head += read_exactly(std::stoul(length->second));
  }
  return head;
}

void Wire::shutdown_send() {
  ::shutdown(fd_, SHUT_WR);
}

void Wire::reset() {
  const linger hard{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

void Wire::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Upstream::Upstream(Script script) : script_(std::move(script)) {
  listener_ = bound_socket(port_);
  ::listen(listener_, 512);
  accepting_ = std::thread([this] {
    for (;;) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      set_patience(fd);
      const std::lock_guard lock(mutex_);
      scripts_.emplace_back([this, fd, number = connections_++] {
        Wire wire(fd);
        script_(wire, number);
      });
    }
  });
}

Upstream::~Upstream() {
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  ::close(listener_);
  for (auto& script : scripts_) script.join();
}

int Upstream::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

FullListener::FullListener() {
  sockets_.push_back(bound_socket(port_));
  ::listen(sockets_.front(), 0);
  const sockaddr_in address = loopback(port_);
  // Linux queues one connection more than the backlog; a few more are certain to fill it.
  for (int i = 0; i < 4; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    static_cast<void>(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    sockets_.push_back(fd);
  }
}

FullListener::~FullListener() {
  for (const int fd : sockets_) ::close(fd);
}

// Returns a port below those that the system gives to connections (32768 and up). A client that
// keeps connecting to a closed port in that range is eventually given that very port and connects
// to itself.
uint16_t closed_port() {
  static std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<uint16_t> ports(10'000, 32'000);
  for (;;) {
    const uint16_t port = ports(random);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (free) return port;
  }
}

std::string post(std::string_view path, std::string_view body, std::string_view extra_headers) {
  std::string out = "POST ";
  out.append(path).append(
      " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ");
  out.append(std::to_string(body.size()))
      .append("\r\n")
      .append(extra_headers)
      .append("\r\n")
      .append(body);
  return out;
}

std::string get(std::string_view path, std::string_view extra_headers) {
  std::string out = "GET ";
  out.append(path).append(" HTTP/1.1\r\nHost: localhost\r\n").append(extra_headers).append("\r\n");
  return out;
}

}  // namespace signalbox::test
