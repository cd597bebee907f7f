#pragma once
// A lock on a folder excludes other processes from a file in it. The file itself is replaced, so a
// lock on it would not exclude a process that opens the new one.

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "base/descriptor.h"

namespace signalbox::access {

/// Waits for the lock and holds it for its scope. Threads of one process exclude each other, too.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_.get() < 0) error_ = errno;
    while (error_ == 0 && ::flock(folder_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) error_ = errno;
    }
  }

  /// An errno, or 0 if the lock is held.
  int error() const { return error_; }

 private:
  Descriptor folder_;
  int error_ = 0;
};

}  // namespace signalbox::access
