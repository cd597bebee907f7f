// Implements MappedFile with mmap(2).

#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace signalbox {
namespace {

tl::unexpected<Error> system_failure(const std::filesystem::path& path, int error_number) {
  const Code code = error_number == ENOENT ? Code::kNotFound : Code::kIo;
  return fail(code, "{}: {}", path.string(), std::strerror(error_number));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return system_failure(path, errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int error_number = errno;
    ::close(fd);
    return system_failure(path, error_number);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return fail(Code::kIo, "{}: {}, expected a file", path.string(),
                S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    ::close(fd);
    return MappedFile(nullptr, 0);
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error_number = errno;
  ::close(fd);
  if (address == MAP_FAILED) return system_failure(path, error_number);
  return MappedFile(static_cast<const std::byte*>(address), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace signalbox
