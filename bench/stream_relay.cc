// The daemon's cost of relaying many concurrent streams: 2,000 replies with 20 events per second
// each. This program acts as the server and the clients. It measures the user and system time and
// memory of the daemon's process while all streams are active.
//
// usage: stream_relay build/release/signalbox [STREAMS [SECONDS]]

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/child_daemon.h"
#include "tests/router/net/sockets.h"

namespace signalbox::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEventsASecond = 20;
constexpr int kSlots = 50;  // groups of streams that take turns, one millisecond each
constexpr std::string_view kEvent =
    R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" modularity"},"finish_reason":null}]})"
    "\n\n";

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "stream_relay: %s\n", what);
  std::exit(1);
}

std::string as_chunk(std::string_view text) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return std::string(size).append(text).append("\r\n");
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// The server and the clients in one thread.
class Play {
 public:
  Play() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), event_(as_chunk(kEvent)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 4096) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      give_up("no port for the server");
    port_ = ntohs(address.sin_port);
    add(listener_);
  }

  uint16_t port() const { return port_; }
  size_t streams() const { return streams_; }
  uint64_t received() const { return received_; }  // events, including partial ones
  uint64_t sent() const { return sent_; }

  void open(uint16_t router, const std::string& request) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(router);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size()))
      give_up("a client cannot connect");
    clients_[fd] = true;
    add(fd);
  }

  void run_for(std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    for (auto now = Clock::now(); now < end; now = Clock::now()) {
      std::array<epoll_event, 512> events;
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1);
      for (int i = 0; i < count; ++i) on_event(events[static_cast<size_t>(i)].data.fd);
      turn();
    }
  }

 private:
  void add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void on_event(int fd) {
    if (fd == listener_) {
      for (int one; (one = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        const int yes = 1;
        ::setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        add(one);
      }
      return;
    }
    char bytes[65536];
    const ssize_t size = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size <= 0) give_up("a connection was closed");
    if (clients_.contains(fd)) {
      received_bytes_ += static_cast<uint64_t>(size);
      received_ = received_bytes_ / event_.size();
      return;
    }
    std::string& asked = asked_[fd];
    asked.append(bytes, static_cast<size_t>(size));
    if (!asked.ends_with("]}")) return;  // end of the request
    asked.clear();
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    if (::send(fd, head.data(), head.size(), MSG_NOSIGNAL) < 0) give_up("a stream cannot begin");
    slots_[streams_++ % kSlots].push_back(fd);
  }

  // Sends for all slots that are due; each is due 20 times a second.
  void turn() {
    using std::chrono::microseconds;
    constexpr auto kStep = microseconds(1'000'000 / kEventsASecond / kSlots);
    while (next_ <= Clock::now()) {
      next_ += kStep;
      for (const int fd : slots_[slot_]) {
        if (::send(fd, event_.data(), event_.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            static_cast<ssize_t>(event_.size()))
          give_up("the daemon does not keep up");
        ++sent_;
      }
      slot_ = (slot_ + 1) % kSlots;
    }
  }

  const int epoll_;
  const std::string event_;
  int listener_;
  uint16_t port_;
  std::unordered_map<int, bool> clients_;
  std::unordered_map<int, std::string> asked_;
  std::array<std::vector<int>, kSlots> slots_;
  size_t slot_ = 0;
  Clock::time_point next_ = Clock::now();
  size_t streams_ = 0;
  uint64_t sent_ = 0, received_ = 0, received_bytes_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: stream_relay build/release/signalbox [STREAMS [SECONDS]]\n", stderr);
    return 2;
  }
  const auto streams = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 2'000);
  const int seconds = argc > 3 ? std::atoi(argv[3]) : 10;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);

  Play play;
  const uint16_t port = test::closed_port();
  const auto file = std::filesystem::temp_directory_path() /
                    ("stream_relay_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file)
      << "version: v0.3\nlisteners: [{name: http, address: 127.0.0.1, port: " << port
      << "}]\nproviders:\n  defaults: {default_model: m}\n  models:\n"
      << "    - {name: m, backend_refs: [{name: a, endpoint: \"127.0.0.1:" << play.port()
      << "\"}]}\n"
      << "routing:\n  signals: {keywords: [{name: proof, keywords: [theorem]}]}\n"
      << "  decisions: [{name: math, rules: {type: keyword, name: proof}, modelRefs: "
      << "[{model: m}]}]\nglobal:\n  services:\n    http: {threads: 1, "
      << "connections_max: 10000}\n    management_api: {enabled: false}\n";
  {
    const ChildDaemon daemon(argv[1], file.string());
    const std::string request = test::post(
        "/v1/chat/completions",
        R"({"model":"auto","stream":true,"messages":[{"role":"user","content":"Which theorem?"}]})");
    for (size_t i = 0; i < streams; ++i) {
      play.open(port, request);
      if (i % 50 == 49) play.run_for(std::chrono::milliseconds(10));
    }
    for (int i = 0; i < 100 && play.streams() < streams; ++i)
      play.run_for(std::chrono::milliseconds(50));
    if (play.streams() != streams) give_up("not every stream has begun");
    play.run_for(std::chrono::milliseconds(1000));

    const double before = daemon.cpu_seconds();
    const uint64_t sent = play.sent(), received = play.received();
    const auto began = Clock::now();
    play.run_for(std::chrono::seconds(seconds));
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    const double share = (daemon.cpu_seconds() - before) / took;
    const auto in = static_cast<double>(play.sent() - sent);
    const auto out = static_cast<double>(play.received() - received);
    if (out < in * 0.98) give_up("events were lost or late");
    std::printf(
        "%s: %zu streams, %.0f events/s in and %.0f out: %.2f of a core, %.1f us an event, "
        "%.0f MB\n",
        processor().c_str(), streams, in / took, out / took, share, share * took * 1e6 / in,
        daemon.resident_mb());
  }
  std::filesystem::remove(file);
  return 0;
}

}  // namespace
}  // namespace signalbox::bench

int main(int argc, char** argv) {
  return signalbox::bench::run(argc, argv);
}
