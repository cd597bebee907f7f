#pragma once
// Both ends of a connection for tests, as plain blocking POSIX sockets. No code under test takes
// part, so the test controls every byte. Waits end after kPatience with a failure instead of
// hanging.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace signalbox::test {

inline constexpr std::chrono::seconds kPatience{20};

/// Returns whether `holds` becomes true within kPatience.
template <class Holds>
bool eventually(const Holds& holds) {
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    if (holds()) return true;
  }
  return false;
}

/// A received reply; header names are in lower case.
struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
  bool complete = false;  // the announced end of the body was reached
  bool chunked = false;

  bool has(const std::string& name) const { return headers.count(name) > 0; }
};

/// A connected socket. Move-only.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  Wire(Wire&& other) noexcept : fd_(other.fd_), buffer_(std::move(other.buffer_)) {
    other.fd_ = -1;
  }
  Wire& operator=(Wire&& other) noexcept;
  ~Wire() { close(); }

  static Wire connect(uint16_t port);

  /// Returns false if the other side has closed.
  bool send(std::string_view bytes);
  /// Reads until `mark` occurs and returns everything up to its end. If the other side closes
  /// first, returns what was read.
  std::string read_until(std::string_view mark);
  std::string read_exactly(size_t size);
  /// Waits until the other side closes; returns false if it sends something instead.
  bool closed();
  /// Reads one response.
  Reply read_reply(bool head_request = false);
  /// Reads one request (a header, then a body of its Content-Length) and returns its bytes.
  std::string read_request();

  void shutdown_send();
  /// Closes with a reset instead of an orderly shutdown.
  void reset();
  void close();

 private:
  bool fill();

  int fd_;
  std::string buffer_;
};

/// A server that runs the test's script, with one thread per connection. The script receives the
/// connection and its number, counted from 0. Connections that it leaves open are closed when it
/// returns.
class Upstream {
 public:
  using Script = std::function<void(Wire& wire, int number)>;
  explicit Upstream(Script script);
  ~Upstream();

  uint16_t port() const { return port_; }
  int connections() const;

 private:
  int listener_ = -1;
  uint16_t port_ = 0;
  Script script_;
  mutable std::mutex mutex_;
  int connections_ = 0;
  std::vector<std::thread> scripts_;
  std::thread accepting_;
};

/// A listener that accepts no connection and whose queue is full, so that handshakes of further
/// connections are dropped.
class FullListener {
 public:
  FullListener();
  ~FullListener();
  uint16_t port() const { return port_; }

 private:
  uint16_t port_ = 0;
  std::vector<int> sockets_;
};

/// Returns a port on which nothing listens.
uint16_t closed_port();

/// Returns "POST /path HTTP/1.1" with Host, Content-Type and Content-Length.
std::string post(std::string_view path, std::string_view body, std::string_view extra_headers = {});
std::string get(std::string_view path, std::string_view extra_headers = {});

}  // namespace signalbox::test
