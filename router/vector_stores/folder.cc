// One flat folder: names are random, so they reveal nothing about users.

#include "router/vector_stores/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/file.h"

namespace signalbox::vector_stores {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

tl::unexpected<Error> failure_at(const fs::path& path, int number) {
  return fail(number == ENOENT ? Code::kNotFound : Code::kIo, "{}: {}", path.string(),
              std::strerror(number));
}

}  // namespace

Result<std::unique_ptr<Folder>> Folder::open(const fs::path& path,
                                             std::vector<std::string> prefixes) {
  std::error_code error;
  if (fs::create_directories(path, error)) fs::permissions(path, fs::perms::owner_all, error);
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fail(Code::kIo, "{}: {}", path.string(), error ? error.message() : std::strerror(errno));
  auto out = std::unique_ptr<Folder>(new Folder(path, std::move(prefixes), fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Code::kIo, "{}: another process uses it", path.string());
    return failure_at(path, errno);
  }
  SIGNALBOX_TRY(const auto names, out->list());
  for (const std::string& name : names) {
    if (name.ends_with(kPartial)) SIGNALBOX_TRY_VOID(out->remove(name));
  }
  return out;
}

Folder::~Folder() {
  ::close(fd_);
}

Result<void> Folder::sync() const {
  if (::fsync(fd_) != 0) return failure_at(path_, errno);
  return {};
}

Result<void> Folder::write(std::string_view name, std::string_view text,
                           std::string_view more) const {
  FileWriter file(path_ / name, Readers::kOwner);
  file.append(text);
  file.append(more);
  SIGNALBOX_TRY_VOID(file.commit());
  return sync();
}

Result<std::string> Folder::read(std::string_view name, size_t bytes_max) const {
  return read_file(path_ / name, bytes_max);
}

Result<Folder::Front> Folder::read_front(std::string_view name, size_t bytes_max) const {
  const fs::path path = path_ / name;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failure_at(path, errno);
  Front out{std::string(bytes_max, '\0')};
  struct stat status {};
  const ssize_t got = ::pread(fd, out.text.data(), bytes_max, 0);
  const bool is_known = got >= 0 && ::fstat(fd, &status) == 0;
  const int number = errno;
  ::close(fd);
  if (!is_known) return failure_at(path, number);
  out.text.resize(static_cast<size_t>(got));
  out.bytes = static_cast<uint64_t>(status.st_size);
  return out;
}

Result<void> Folder::remove(std::string_view name) const {
  const fs::path path = path_ / name;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure_at(path, errno);
  return sync();
}

Result<std::vector<std::string>> Folder::list() const {
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator entry(path_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    const bool is_ours = std::ranges::any_of(
        prefixes_, [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (is_ours && fs::is_regular_file(entry->symlink_status(error)))
      out.push_back(std::move(name));
  }
  if (error) return fail(Code::kIo, "{}: {}", path_.string(), error.message());
  return out;
}

}  // namespace signalbox::vector_stores
