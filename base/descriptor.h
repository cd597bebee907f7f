#pragma once
// Closes a file descriptor at the end of its scope.

#include <unistd.h>

namespace signalbox {

/// A negative descriptor, as of a failed open(), is not closed. Not thread-safe.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace signalbox
