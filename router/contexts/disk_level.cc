// A context's file is named by name_of() of its key.

#include "router/contexts/disk_level.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/file.h"
#include "router/contexts/record.h"
#include "router/contexts/zstd.h"

namespace signalbox::contexts {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kContext = ".ctx";
constexpr std::string_view kPin = ".pin";
constexpr std::string_view kPartial = ".partial";

tl::unexpected<Error> system_failure(const fs::path& path, int number) {
  return fail(number == ENOENT ? Code::kNotFound : Code::kIo, "{}: {}", path.string(),
              std::strerror(number));
}

uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

/// Reads the first kHeadBytesMax bytes.
Result<std::string> read_front(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return system_failure(path, errno);
  std::string front(kHeadBytesMax, '\0');
  const ssize_t got = ::pread(fd, front.data(), front.size(), 0);
  const int number = errno;
  ::close(fd);
  if (got < 0) return system_failure(path, number);
  front.resize(static_cast<size_t>(got));
  return front;
}

}  // namespace

Result<std::unique_ptr<DiskLevel>> DiskLevel::open(const fs::path& directory, int compression) {
  std::error_code error;
  if (fs::create_directories(directory, error))
    fs::permissions(directory, fs::perms::owner_all, error);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fail(Code::kIo, "{}: {}", directory.string(),
                error ? error.message() : std::strerror(errno));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    ::close(fd);
    if (number == EWOULDBLOCK)
      return fail(Code::kIo, "{}: another process uses it", directory.string());
    return system_failure(directory, number);
  }
  return std::unique_ptr<DiskLevel>(new DiskLevel(directory, compression, fd));
}

DiskLevel::~DiskLevel() {
  ::close(fd_);
}

fs::path DiskLevel::file_of(const Key& key, std::string_view extension) const {
  return directory_ / fmt::format("{}{}", name_of(key), extension);
}

Result<void> DiskLevel::sync() const {
  if (::fsync(fd_) != 0) return system_failure(directory_, errno);
  return {};
}

Result<void> DiskLevel::put(const Context& context, std::string_view content) {
  const fs::path path = file_of(context.key, kContext);
  const std::string packed = compress(content, compression_);
  const std::string head = write_head(context, packed.size());
  SIGNALBOX_CHECK(head.size() <= kHeadBytesMax);
  const uint64_t before = size_of(path);
  FileWriter file(path);
  file.append(head);
  file.append(packed);
  SIGNALBOX_TRY_VOID(remove(file_of(context.key, kPin)));  // the pin of a damaged predecessor
  SIGNALBOX_TRY_VOID(file.commit());
  bytes_ += head.size() + packed.size() - before;
  return sync();
}

Result<std::string> DiskLevel::get(const Context& context) {
  const fs::path path = file_of(context.key, kContext);
  SIGNALBOX_TRY(const std::string file, read_file(path, 2 * (kHeadBytesMax + context.bytes)));
  const Result<Head> head = read_head(file);
  if (head && head->context.key != context.key)
    return fail(Code::kCorrupt, "{}: it contains another context", path.string());
  Result<std::string> content = read_content(file, context.bytes);
  if (!content) return fail_in(path.string(), std::move(content).error());
  return content;
}

Result<void> DiskLevel::remove(const fs::path& path) const {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure(path, errno);
}

Result<void> DiskLevel::drop(const Key& key) {
  const fs::path path = file_of(key, kContext);
  const uint64_t size = size_of(path);
  SIGNALBOX_TRY_VOID(remove(file_of(key, kPin)));
  SIGNALBOX_TRY_VOID(remove(path));
  bytes_ -= size;
  return sync();
}

Result<void> DiskLevel::pin(const Key& key, bool pinned) {
  const fs::path path = file_of(key, kPin);
  if (!pinned) {
    SIGNALBOX_TRY_VOID(remove(path));
    return sync();
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(path, errno);
  ::close(fd);
  return sync();
}

Result<Context> DiskLevel::recover_file(const fs::path& path) {
  SIGNALBOX_TRY(const std::string front, read_front(path));
  Result<Head> head = read_head(front);
  if (!head) return fail_in(path.string(), std::move(head).error());
  const uint64_t size = size_of(path);
  const uint64_t whole = head->bytes + head->packed_bytes;
  if (size != whole)
    return fail(Code::kCorrupt, "{}: it has {} of {} bytes", path.string(), size, whole);
  if (path != file_of(head->context.key, kContext))
    return fail(Code::kCorrupt, "{}: it contains a context with another name", path.string());
  bytes_ += size;
  head->context.pinned = fs::exists(file_of(head->context.key, kPin));
  return std::move(head->context);
}

Recovered DiskLevel::recover() {
  Recovered out;
  std::error_code error;
  fs::directory_iterator entry(directory_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path path = entry->path();
    if (path.extension() == kPartial) {
      std::error_code ignored;  // the next start tries again
      fs::remove(path, ignored);
    }
    if (path.extension() != kContext) continue;
    Result<Context> context = recover_file(path);
    if (context) {
      out.contexts.push_back(*std::move(context));
    } else {
      out.rejected.push_back(std::move(context).error().message);
    }
  }
  if (error) out.rejected.push_back(fmt::format("{}: {}", directory_.string(), error.message()));
  return out;
}

}  // namespace signalbox::contexts
