// npm unpacks its own packages; we then verify the contents file by file. We do not parse tar here:
// the npm client is needed anyway for registries, proxies and credentials.

#include "tools/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "tools/directory_lock.h"
#include "tools/fit/head_folder.h"
#include "tools/hub/client.h"
#include "tools/hub/make_model.h"
#include "tools/hub/mirror.h"
#include "tools/hub/pull_repository.h"
#include "tools/hub/receipt.h"
#include "tools/process.h"
#include "tools/progress_bar.h"
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

/// Runs npm. `what` names the thing to fetch.
Result<void> run_npm(const std::vector<std::string>& argv, std::string_view what) {
  const auto status = run_program(argv);
  if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
  if (!status) {
    if (status.error().code != Code::kNotFound) return fail_in(what, status.error());
    return fail(Code::kNotFound,
                "{}: npm is needed to fetch it and is not on PATH; on Debian: apt-get install npm",
                what);
  }
  if (*status != 0) {
    return fail(Code::kUpstream, "{}: npm exited with status {}; its own message is above", what,
                *status);
  }
  return {};
}

/// Fetches the whole package without running its scripts. Returns the folder into which it was
/// unpacked.
Result<fs::path> fetch_package(const ManifestSource& source, const fs::path& staging) {
  const std::string package = named(source);
  SIGNALBOX_TRY_VOID(
      run_npm({"npm", "install", "--prefix", staging.string(), "--ignore-scripts", "--no-save",
               "--no-package-lock", "--no-audit", "--no-fund", "--omit=dev", "--omit=optional",
               "--omit=peer", "--loglevel=error", package},
              package));
  return staging / "node_modules" / source.origin;
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

/// Fetches the listed files of a hub or of a mirror folder. A file whose download was interrupted
/// stays in `.download` and is continued by the next pull.
Result<void> fetch_from_hub(const ManifestSource& source,
                            const std::vector<const ManifestFile*>& wanted,
                            const fs::path& directory, const PullOptions& options) {
  const RepositoryName name{source.origin, source.version};
  std::optional<MirroredRepository> mirror;
  HubSettings settings;
  if (options.mirror.empty()) {
    SIGNALBOX_TRY(settings, hub_settings_from_environment());
  } else {
    SIGNALBOX_TRY(mirror, find_in_mirror(options.mirror, {source.origin, ""}));
  }
  uint64_t total = 0;
  for (const ManifestFile* file : wanted) total += file->bytes;
  ProgressBar bar(directory.filename().string(), total);
  settings.print = [&](std::string_view line) {
    bar.hide();
    options.print(fmt::format("{}: {}", directory.filename().string(), line));
  };
  const HubClient client(settings);
  uint64_t done = 0;
  for (const ManifestFile* file : wanted) {
    const fs::path staged = directory / ".download" / file->name;
    std::error_code error;
    fs::create_directories(staged.parent_path(), error);
    if (error) return fail(Code::kIo, "{}: {}", staged.string(), error.message());
    const RepositoryFile expected{file->path, file->bytes, file->sha256, ""};
    SIGNALBOX_TRY_VOID(mirror ? copy_from_mirror(*mirror, expected, staged)
                              : client.fetch(name.id, name.revision, expected, staged,
                                             [&](uint64_t bytes) { bar.show(done + bytes); }));
    const std::string place = fmt::format("{} of {}", file->path, named(source));
    SIGNALBOX_TRY_VOID(install(staged, directory / file->name, *file, place));
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
    done += file->bytes;
  }
  std::error_code ignored;
  fs::remove_all(directory / ".download", ignored);
  return {};
}

Result<void> fetch(const ManifestSource& source, const std::vector<const ManifestFile*>& wanted,
                   const fs::path& directory) {
  SIGNALBOX_TRY(const auto staging, Staging::create(directory / ".partial"));
  const bool is_npm = source.kind == ManifestSource::Kind::kNpm;
  fs::path package;
  if (is_npm) {
    SIGNALBOX_TRY(package, fetch_package(source, staging.path()));
  }
  for (const ManifestFile* file : wanted) {
    const fs::path staged = is_npm ? package / file->path : staging.path() / file->name;
    if (!is_npm) SIGNALBOX_TRY_VOID(copy_built_in(source, *file, staged));
    const std::string place = fmt::format("{} of {}", file->path, named(source));
    SIGNALBOX_TRY_VOID(install(staged, directory / file->name, *file, place));
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
  }
  return {};
}

// Without --from, a mirror folder is preferred to a registry, which may be out of reach.
Result<const ManifestSource*> choose(const ManifestModel& model, const PullOptions& options) {
  const std::string& from = options.from;
  const ManifestSource* const hub = model.find("hub");
  if (from.empty() && hub != nullptr && !options.mirror.empty()) return hub;
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

/// Returns the weights of a source that the engine reads only after a conversion: ONNX and the
/// like. None if it has safetensors.
const ManifestFile* foreign_weights(const ManifestSource& source) {
  const ManifestFile* out = nullptr;
  for (const ManifestFile& file : source.files) {
    if (file.name.ends_with(".safetensors")) return nullptr;
    if (file.name.ends_with(".onnx")) out = &file;
  }
  return out;
}

Result<void> remove_converted(const fs::path& directory) {
  std::error_code error;
  fs::remove(directory / kWeightsFile, error);
  if (error) return fail(Code::kIo, "{}: {}", (directory / kWeightsFile).string(), error.message());
  return {};
}

/// Makes model.safetensors from the weights of such a source, which stay for the next check. One
/// that exists is theirs, because it is removed before they change.
Result<void> convert_weights(const ManifestModel& model, const ManifestSource& source,
                             const fs::path& directory, const PullOptions& options) {
  const ManifestFile* const weights = foreign_weights(source);
  std::error_code ignored;
  if (weights == nullptr || fs::exists(directory / kWeightsFile, ignored)) return {};
  options.print(fmt::format("{}: converting {}", model.name, weights->name));
  Selection selection;
  selection.weights = weights->name;
  selection.kind = Selection::Weights::kOnnx;
  PullReceipt unused;
  SIGNALBOX_TRY_VOID(convert_in_place(directory, selection, {}, unused));
  auto opened = check_opens(directory);
  if (!opened) SIGNALBOX_TRY_VOID(remove_converted(directory));  // so that the next pull fails, too
  return opened;
}

Result<void> pull_unnamed(const Manifest& manifest, const ManifestModel& model,
                          const PullOptions& options) {
  SIGNALBOX_TRY(const ManifestSource* const source, choose(model, options));
  if (!source->is_pinned()) {
    return pull_repository({source->origin, source->version},
                           {.to = options.to, .mirror = options.mirror, .print = options.print});
  }
  const fs::path directory = options.to / model.name;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(Code::kIo, "{}: {}", directory.string(), error.message());
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
    return convert_weights(model, *source, directory, options);
  }
  options.print(fmt::format("{}: fetching {} from {} ({})", model.name, named(*source),
                            kind_name(source->kind), bytes_text(source->bytes())));
  if (changes) warn_about_extra_heads(manifest, model, *source, options);
  if (changes && foreign_weights(*source) != nullptr)
    SIGNALBOX_TRY_VOID(remove_converted(directory));
  SIGNALBOX_TRY_VOID(source->kind == ManifestSource::Kind::kHub
                         ? fetch_from_hub(*source, wanted, directory, options)
                         : fetch(*source, wanted, directory));
  options.print(fmt::format("{}: {} of {} files fetched and verified in {}", model.name,
                            wanted.size(), source->files.size(), directory.string()));
  return convert_weights(model, *source, directory, options);
}

}  // namespace

Result<void> pull(const Manifest& manifest, const ManifestModel& model,
                  const PullOptions& options) {
  auto done = pull_unnamed(manifest, model, options);
  if (!done) return fail_in(model.name, std::move(done).error());
  return {};
}

Installed find_installed(const ManifestModel& model, const fs::path& directory) {
  Installed found = Installed::kNo;
  for (const ManifestSource& source : model.sources) {
    size_t present = 0;
    for (const ManifestFile& file : source.files) {
      std::error_code error;
      const uint64_t bytes = fs::file_size(directory / file.name, error);
      present += !error && bytes == file.bytes ? 1 : 0;
    }
    std::error_code ignored;
    const bool is_ready =
        foreign_weights(source) == nullptr || fs::exists(directory / kWeightsFile, ignored);
    if (source.is_pinned() && present == source.files.size() && is_ready) return Installed::kYes;
    if (present > 0) found = Installed::kInPart;
  }
  const auto receipt = read_receipt(directory);
  if (!receipt || !*receipt) return receipt ? found : Installed::kInPart;
  return find_damage(directory, **receipt, true).empty() ? Installed::kYes : Installed::kInPart;
}

}  // namespace signalbox::tools
