// The lock is on a file of its own, because the log itself is renamed.

#include "router/audit/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/log.h"

namespace signalbox::audit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTailBytes = 4 * kLineBytesMax;
constexpr int kNumberDigits = 6;

tl::unexpected<Error> io_error(const fs::path& path) {
  return fail(Code::kIo, "{}: {}", path.string(), std::strerror(errno));
}

/// Opens or makes a file that only its owner may read.
Result<int> open_own(const fs::path& path, int flags) {
  constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR, kAll = S_IRWXU | S_IRWXG | S_IRWXO;
  const int fd =
      ::open(path.c_str(), flags | O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
  if (fd < 0) return io_error(path);
  const auto check = [&]() -> Result<int> {
    struct stat found {};
    if (fstat(fd, &found) != 0) return io_error(path);
    if (!S_ISREG(found.st_mode)) return fail(Code::kInvalid, "{}: is not a file", path.string());
    if (found.st_uid != geteuid())
      return fail(Code::kInvalid,
                  "{}: belongs to the user with the number {}, and the router runs as {}; change "
                  "the file's owner or move it away",
                  path.string(), found.st_uid, geteuid());
    if ((found.st_mode & kAll) != kOwnerOnly && fchmod(fd, kOwnerOnly) != 0) return io_error(path);
    return fd;
  };
  auto out = check();
  if (!out) ::close(fd);
  return out;
}

Result<void> sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error(folder);
  Result<void> out;
  // EINVAL: this file system cannot sync folders.
  if (fsync(fd) != 0 && errno != EINVAL) out = io_error(folder);
  ::close(fd);
  return out;
}

/// The last bytes of a file.
Result<std::string> tail_of(int fd, uint64_t size, const fs::path& path) {
  std::string out(std::min<uint64_t>(size, kTailBytes), '\0');
  const ssize_t got = pread(fd, out.data(), out.size(), static_cast<off_t>(size - out.size()));
  if (got != static_cast<ssize_t>(out.size())) return io_error(path);
  return out;
}

/// The end of the chain in a file that ends with a line break; a file without lines has none.
Result<Link> last_link(std::string_view tail, const fs::path& path) {
  if (tail.empty()) return Link{};
  tail.remove_suffix(1);
  const size_t before = tail.rfind('\n');
  const std::string_view line = before == std::string_view::npos ? tail : tail.substr(before + 1);
  const auto read = read_line(line);
  if (!read)
    return fail(Code::kInvalid, "{}: the last line is not an entry: {}; move the file away",
                path.string(), read.error().message);
  return link_of(line, read->number);
}

}  // namespace

AuditFile::~AuditFile() {
  close();
  if (lock_ >= 0) ::close(lock_);
}

void AuditFile::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<void> AuditFile::lock() {
  if (lock_ >= 0) return {};
  const fs::path path = path_.parent_path() / fmt::format(".{}.lock", path_.filename().string());
  SIGNALBOX_TRY(lock_, open_own(path, 0));
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return {};
  ::close(std::exchange(lock_, -1));
  return fail(Code::kOverloaded, "{}: another process writes it; give each its own file",
              path_.string());
}

std::vector<std::pair<uint64_t, fs::path>> AuditFile::predecessors() const {
  std::vector<std::pair<uint64_t, fs::path>> out;
  const std::string prefix = path_.filename().string() + ".";
  std::error_code ignored;
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty())
      out.emplace_back(number, each.path());
  }
  std::ranges::sort(out);
  return out;
}

// Sets size_ and end_ from the content of the file.
Result<size_t> AuditFile::recover() {
  struct stat found {};
  if (fstat(fd_, &found) != 0) return io_error(path_);
  size_ = static_cast<uint64_t>(found.st_size);
  SIGNALBOX_TRY(std::string tail, tail_of(fd_, size_, path_));
  const size_t end = tail.rfind('\n');
  const size_t torn = tail.size() - (end == std::string::npos ? 0 : end + 1);
  if (torn > kLineBytesMax)
    return fail(Code::kInvalid,
                "{}: the last line is not an entry: it is too long; move the file away",
                path_.string());
  if (torn > 0) {
    size_ -= torn;
    tail.resize(tail.size() - torn);
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) return io_error(path_);
  }
  SIGNALBOX_TRY(Link link, last_link(tail, path_));
  const auto before = predecessors();
  if (link.number == 0 && end_.number == 0 && !before.empty()) {
    const fs::path& newest = before.back().second;
    const int fd = ::open(newest.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) != 0) return io_error(newest);
    const auto last = tail_of(fd, static_cast<uint64_t>(found.st_size), newest);
    ::close(fd);
    if (!last) return tl::unexpected<Error>(last.error());
    SIGNALBOX_TRY(link, last_link(*last, newest));
  }
  // A file that was replaced or cut while the process runs does not change where the chain ends.
  if (end_.number == 0) end_ = std::move(link);
  return torn;
}

Result<size_t> AuditFile::open() {
  std::error_code failed;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), failed);
  if (failed) return fail(Code::kIo, "{}: {}", path_.parent_path().string(), failed.message());
  SIGNALBOX_TRY_VOID(lock());
  close();
  SIGNALBOX_TRY(fd_, open_own(path_, O_APPEND | O_NONBLOCK));
  is_new_ = true;
  auto torn = recover();
  if (!torn) close();
  return torn;
}

std::string_view AuditFile::damage() const {
  struct stat here {
  }, there{};
  if (fd_ < 0 || fstat(fd_, &here) != 0 || stat(path_.c_str(), &there) != 0 ||
      here.st_ino != there.st_ino || here.st_dev != there.st_dev)
    return "file_replaced";
  return static_cast<uint64_t>(here.st_size) < size_ ? "file_truncated" : "";
}

// Makes the new file first. If that fails, the old file stays in use.
Result<void> AuditFile::rotate() {
  if (fsync(fd_) != 0) return io_error(path_);
  auto before = predecessors();
  const uint64_t number = before.empty() ? 1 : before.back().first + 1;
  const fs::path name = fmt::format("{}.{:0{}}", path_.string(), number, kNumberDigits);
  if (rename(path_.c_str(), name.c_str()) != 0) return io_error(name);
  const auto next = open_own(path_, O_APPEND | O_EXCL);
  if (!next) {
    rename(name.c_str(), path_.c_str());
    return tl::unexpected<Error>(next.error());
  }
  close();
  fd_ = *next;
  is_new_ = true;
  size_ = 0;
  log::info("audit", "{}: entry {} is the last; its digest is {}", name.string(), end_.number,
            end_.digest);
  before.emplace_back(number, name);
  for (size_t i = 0; i + files_max_ < before.size(); ++i) unlink(before[i].second.c_str());
  return {};
}

// Cuts off the bytes that an earlier failure may have left after the last line. It never lengthens
// the file, because a file that others have cut would get NUL bytes.
Result<void> AuditFile::cut_tail() {
  struct stat found {};
  if (fstat(fd_, &found) != 0) return io_error(path_);
  const auto size = static_cast<uint64_t>(found.st_size);
  if (size < size_)
    return fail(Code::kIo, "{}: somebody has cut off its end: it has {} bytes, expected {}",
                path_.string(), size, size_);
  if (size > size_ && ftruncate(fd_, static_cast<off_t>(size_)) != 0) return io_error(path_);
  return {};
}

Result<void> AuditFile::append(const Entry& entry, std::string_view time) {
  const std::string line = line_of(entry, end_, time);
  if (size_ > 0 && size_ + line.size() + 1 > bytes_max_) SIGNALBOX_TRY_VOID(rotate());
  SIGNALBOX_TRY_VOID(cut_tail());
  const std::string bytes = line + '\n';
  ssize_t written = 0;
  do written = ::write(fd_, bytes.data(), bytes.size());
  while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(bytes.size())) {
    if (written >= 0) errno = ENOSPC;
    const auto error = io_error(path_);
    static_cast<void>(cut_tail());  // the next call cuts again if this one fails
    return error;
  }
  size_ += bytes.size();
  end_ = link_of(line, end_.number + 1);
  return {};
}

Result<void> AuditFile::sync() {
  if (fd_ >= 0 && fdatasync(fd_) != 0) return io_error(path_);
  if (is_new_) SIGNALBOX_TRY_VOID(sync_folder(path_));
  is_new_ = false;
  return {};
}

}  // namespace signalbox::audit
