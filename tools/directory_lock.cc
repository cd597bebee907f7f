// The kernel frees the lock when the process ends, however it ends.

#include "tools/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/process.h"

namespace signalbox::tools {

Result<DirectoryLock> DirectoryLock::take(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(Code::kIo, "{}: {}", directory.string(), std::strerror(errno));
  DirectoryLock lock(fd);
  while (::flock(fd, LOCK_EX) != 0) {
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
    if (errno != EINTR) return fail(Code::kIo, "{}: {}", directory.string(), std::strerror(errno));
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace signalbox::tools
