#pragma once
// A connection to a local server with a configurable delay for everything that the server sends. It
// passes all bytes on unchanged.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace signalbox::test {

class SlowPath {
 public:
  explicit SlowPath(uint16_t to) : to_(loopback(to)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in any = loopback(0);
    socklen_t size = sizeof any;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&any), size);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
    ::listen(listener_, 512);
    accepting_ = std::thread([this] {
      for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0;)
        passing_.emplace_back([this, client] { pass(client); });
    });
  }
  /// Waits until its connections end, so that their users end first.
  ~SlowPath() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& each : passing_) each.join();
    ::close(listener_);
  }
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

  uint16_t port() const { return port_; }
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out.sin_port = htons(port);
    return out;
  }

  void pass(int client) const {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    for (const int end : {client, server})
      ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    bool goes = ::connect(server, reinterpret_cast<const sockaddr*>(&to_), sizeof to_) == 0;
    while (goes && ::poll(ends.data(), ends.size(), -1) > 0) {
      if (ends[0].revents != 0) goes = move(client, server);
      if (!goes || ends[1].revents == 0) continue;
      std::this_thread::sleep_for(delay_.load());
      goes = move(server, client);
    }
    ::close(server);
    ::close(client);
  }
  static bool move(int from, int to) {
    std::array<char, 16384> piece;
    const ssize_t size = ::recv(from, piece.data(), piece.size(), 0);
    return size > 0 && ::send(to, piece.data(), static_cast<size_t>(size), MSG_NOSIGNAL) == size;
  }

  const sockaddr_in to_;
  const int listener_;
  uint16_t port_ = 0;
  std::atomic<std::chrono::milliseconds> delay_{std::chrono::milliseconds(0)};
  std::thread accepting_;
  std::vector<std::thread> passing_;  // used by the accepting thread until it ends
};

}  // namespace signalbox::test
