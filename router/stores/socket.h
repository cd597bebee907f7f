#pragma once
// A TCP connection for a thread that may block. Every operation has a deadline.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::stores {

using Until = std::chrono::steady_clock::time_point;

/// One thread at a time. Errors: kIo (refused, broken), kDeadline. A socket that returned an error
/// must not be used again.
class Socket {
 public:
  /// Connects to the first of the name's addresses that accepts. The lookup of the name takes as
  /// long as the system's resolver takes.
  static Result<Socket> connect(const std::string& host, uint16_t port, Until until);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  Result<void> send(std::string_view bytes, Until until);
  /// Waits for bytes and returns how many were read; 0: the peer has closed.
  Result<size_t> receive(std::span<char> into, Until until);

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Result<void> wait(short events, Until until) const;

  int fd_;  // -1: moved from
};

}  // namespace signalbox::stores
