// The token's file is written once and then read by each start. Two processes that make it at the
// same time read the same token.

#include "router/access/local_token.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "router/access/folder_lock.h"
#include "router/access/key_file.h"

namespace signalbox::access {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTokenBytesMin = 32;
constexpr size_t kTokenBytesMax = 128;
/// Characters that headers and URLs carry unescaped.
constexpr const char* kTokenDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

tl::unexpected<Error> failed(const fs::path& path) {
  return fail(errno == ENOENT ? Code::kNotFound : Code::kIo, "{}: {}", path.string(),
              std::strerror(errno));
}

Result<std::string> read_token(const fs::path& file) {
  const Descriptor from(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat known {};
  if (from.get() < 0 || ::fstat(from.get(), &known) != 0) return failed(file);
  if (!S_ISREG(known.st_mode) || known.st_uid != ::geteuid() || (known.st_mode & 077) != 0)
    return fail(Code::kIo, "{}: expected a file of mode 0600 that belongs to the router's user",
                file.string());
  std::string text(kTokenBytesMax + 1, '\0');
  const ssize_t bytes = ::read(from.get(), text.data(), text.size());
  if (bytes < 0) return failed(file);
  text.resize(static_cast<size_t>(bytes));
  if (text.ends_with('\n')) text.pop_back();
  if (text.size() < kTokenBytesMin || text.size() > kTokenBytesMax ||
      text.find_first_not_of(kTokenDigits) != std::string::npos)
    return fail(
        Code::kIo,
        "{}: expected one token of {} to {} letters, digits, \"-\" and \"_\"; remove the file "
        "to get a new one",
        file.string(), kTokenBytesMin, kTokenBytesMax);
  return text;
}

Result<std::string> read_or_make(const fs::path& file) {
  auto found = read_token(file);
  if (found || found.error().code != Code::kNotFound) return found;
  std::error_code error;
  const fs::path folder = file.parent_path();
  fs::create_directories(folder, error);
  if (error) return fail(Code::kIo, "{}: {}", folder.string(), error.message());
  const FolderLock lock(folder);
  if (lock.error() != 0)
    return fail(Code::kIo, "{}: {}", folder.string(), std::strerror(lock.error()));
  found = read_token(file);  // another process may have made it meanwhile
  if (found || found.error().code != Code::kNotFound) return found;
  FileWriter to(file, Readers::kOwner);
  to.append(new_key().secret + '\n');
  SIGNALBOX_TRY_VOID(to.commit());
  return read_token(file);
}

}  // namespace

fs::path local_token_file(const fs::path& configuration) {
  const std::string name = configuration.filename().string() + ".token";
  const char* state = std::getenv("STATE_DIRECTORY");
  if (state == nullptr || *state == '\0') {
    std::error_code ignored;
    const fs::path whole = fs::absolute(configuration, ignored);
    return (ignored ? configuration : whole).parent_path() / ".signalbox" / name;
  }
  const std::string_view folders = state;
  return fs::path(folders.substr(0, folders.find(':'))) / name;
}

LocalToken open_local_token(const fs::path& configuration) {
  LocalToken out{.required = true, .file = {}, .secret = {}, .trouble = {}};
  if (configuration.empty()) {
    out.trouble = "the router was started without a configuration file";
    return out;
  }
  out.file = local_token_file(configuration);
  auto secret = read_or_make(out.file);
  if (secret)
    out.secret = *std::move(secret);
  else
    out.trouble = secret.error().message +
                  "; the environment variable STATE_DIRECTORY can name another folder";
  return out;
}

}  // namespace signalbox::access
