#pragma once
// A TCP connection of a thread that waits, each step until a point in time.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::stores {

using Until = std::chrono::steady_clock::time_point;

/// One thread at a time. Errors: kIo (refused, broken), kDeadline. After one it is of no more use.
class Socket {
 public:
  /// To the first of the name's addresses that answers. To look up a name takes the time that the
  /// system's resolver takes.
  static Result<Socket> connect(const std::string& host, uint16_t port, Until until);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  Result<void> send(std::string_view bytes, Until until);
  /// Waits for some bytes and returns how many; 0: the other side has closed.
  Result<size_t> receive(std::span<char> into, Until until);

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Result<void> wait(short events, Until until) const;

  int fd_;  // -1: moved from
};

}  // namespace signalbox::stores
