// Uses POSIX calls, because streams can neither sync nor report why they failed.

#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadSize = size_t{64} << 10;
constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kOwnMode = 0600;

tl::unexpected<Error> system_failure(const fs::path& path) {
  const int number = errno;
  const Code code = number == ENOENT ? Code::kNotFound : Code::kIo;
  return fail(code, "{}: {}", path.string(), std::strerror(number));
}

// Resolves symbolic links. Returns the path itself if nothing exists there.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Without the right to give files away, the file belongs to this process's user.
void set_owner(int fd, const struct stat& like) {
  [[maybe_unused]] const int ignored = ::fchown(fd, like.st_uid, like.st_gid);
}

}  // namespace

Result<std::string> read_file(const fs::path& path, size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_failure(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_failure(path);
  if (!S_ISREG(status.st_mode))
    return fail(Code::kIo, "{}: {}, expected a file", path.string(),
                S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  std::string text;
  for (;;) {
    const size_t size = text.size();
    if (size > bytes_max)
      return fail(Code::kTooLarge, "{}: more than {} bytes", path.string(), bytes_max);
    text.resize(size + kReadSize);
    const ssize_t got = ::read(file.get(), text.data() + size, kReadSize);
    text.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path);
    if (got == 0) return text;
  }
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  FileWriter file(path);
  file.append(text);
  return file.commit();
}

FileWriter::FileWriter(const fs::path& path, Readers readers) : path_(path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  target_ = target_of(path);
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {  // a pipe or device is written to directly, not replaced
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) failed_ = errno;
    return;
  }
  partial_ = target_;
  partial_ += ".partial";
  const bool own = readers != Readers::kAll;
  const bool replaces = !own && exists;
  // A link there may be another user's, and writing must not follow it.
  ::unlink(partial_.c_str());
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
               own ? kOwnMode : kNewFileMode);
  if (fd_ < 0) {
    failed_ = errno;
    return;
  }
  if (exists) {
    set_owner(fd_, old);
  } else if (readers == Readers::kFolderOwner) {
    struct stat folder {};
    if (::stat(folder_of(target_).c_str(), &folder) == 0) set_owner(fd_, folder);
  }
  const mode_t mode = replaces ? old.st_mode & 07777 : kOwnMode;
  if ((replaces || own) && ::fchmod(fd_, mode) != 0) failed_ = errno;
}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  std::error_code error;
  if (!partial_.empty()) fs::remove(partial_, error);
}

void FileWriter::append(std::string_view bytes) {
  while (failed_ == 0 && !bytes.empty()) {
    const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) failed_ = errno;
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(wrote, 0)));
  }
}

Result<void> FileWriter::commit() {
  const bool is_file = !partial_.empty();
  if (failed_ == 0 && is_file && ::fsync(fd_) != 0) failed_ = errno;
  if (failed_ != 0) return fail(Code::kIo, "{}: {}", path_.string(), std::strerror(failed_));
  std::error_code error;
  if (is_file) fs::rename(partial_, target_, error);
  if (error) return fail(Code::kIo, "{}: {}", path_.string(), error.message());
  ::close(fd_);
  fd_ = -1;
  return {};
}

}  // namespace signalbox
