#pragma once
// Lets one process at a time change the files of a directory.

#include <filesystem>
#include <utility>

#include "base/error.h"

namespace signalbox::tools {

/// Locks an existing directory against other holders of this lock during its lifetime.
class DirectoryLock {
 public:
  /// Waits for other holders. Errors: kIo; kCancelled after a signal (process.h).
  static Result<DirectoryLock> take(const std::filesystem::path& directory);
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace signalbox::tools
