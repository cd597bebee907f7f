// The user fills the folder, so its links are followed: the cache of Hugging Face's tools consists
// of them.

#include "tools/hub/mirror.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "tools/hub/client.h"
#include "tools/hub/receipt.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 3;  // of folders in a repository
constexpr size_t kMirroredFilesMax = 20'000;
constexpr size_t kReferenceBytesMax = 256;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// "models--OWNER--NAME"
std::string cache_name(const RepositoryName& name) {
  std::string id = name.id;
  if (const size_t slash = id.find('/'); slash != std::string::npos) id.replace(slash, 1, "--");
  return "models--" + id;
}

// The commit that a branch or tag of the cache stands for; "" if it is not there.
std::string commit_of(const fs::path& cache, const std::string& revision) {
  if (is_commit(revision)) return revision;
  const auto text =
      read_file(cache / "refs" / (revision.empty() ? "main" : revision), kReferenceBytesMax);
  if (!text) return "";
  const std::string commit = text->substr(0, text->find_first_of("\r\n"));
  return is_commit(commit) ? commit : "";
}

Result<void> list_folder(const fs::path& folder, std::vector<RepositoryFile>& out) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') || at.depth() >= kDepthMax) at.disable_recursion_pending();
    if (name.starts_with('.') || !fs::is_regular_file(at->path(), ignored)) continue;
    RepositoryFile file;
    file.path = at->path().lexically_relative(folder).generic_string();
    file.bytes = fs::file_size(at->path(), ignored);
    if (file.path == kReceiptName || !is_safe_path(file.path)) continue;
    out.push_back(std::move(file));
    if (out.size() > kMirroredFilesMax)
      return fail(Code::kTooLarge, "{}: more than {} files", folder.string(), kMirroredFilesMax);
  }
  if (error) return fail(Code::kIo, "{}: {}", folder.string(), error.message());
  std::ranges::sort(out, {}, &RepositoryFile::path);
  return {};
}

Result<MirroredRepository> read_folder(const fs::path& folder, const RepositoryName& name,
                                       const std::string& commit) {
  MirroredRepository out{.listing = {.id = name.id, .commit = commit, .licence = {}, .files = {}},
                         .folder = folder};
  SIGNALBOX_TRY_VOID(list_folder(folder, out.listing.files));
  SIGNALBOX_TRY(const auto receipt, read_receipt(folder));
  if (!receipt) return out;
  if (out.listing.commit.empty()) out.listing.commit = receipt->commit;
  for (const RepositoryFile& recorded : receipt->files) {
    const auto found = std::ranges::find(out.listing.files, recorded.path, &RepositoryFile::path);
    if (found == out.listing.files.end())
      return fail(Code::kCorrupt, "{}: {} is missing, although {} lists it", folder.string(),
                  recorded.path, kReceiptName);
    *found = recorded;
  }
  return out;
}

}  // namespace

Result<MirroredRepository> find_in_mirror(const fs::path& mirror, const RepositoryName& name) {
  const fs::path plain = mirror / name.id;
  const fs::path cache = mirror / cache_name(name);
  if (is_folder(plain)) {
    SIGNALBOX_TRY(MirroredRepository out, read_folder(plain, name, ""));
    if (is_commit(name.revision) && name.revision != out.listing.commit) {
      return fail(Code::kNotFound, "{}: the mirror {} holds {}", name.text(), plain.string(),
                  out.listing.commit.empty() ? "a version that it does not name"
                                             : "commit " + out.listing.commit);
    }
    return out;
  }
  const std::string commit = commit_of(cache, name.revision);
  const fs::path snapshot = cache / "snapshots" / commit;
  if (!commit.empty() && is_folder(snapshot)) return read_folder(snapshot, name, commit);
  return fail(Code::kNotFound, "{}: the mirror does not have it; searched: {}, {}", name.text(),
              plain.string(), (cache / "snapshots").string());
}

Result<void> copy_from_mirror(const MirroredRepository& repository, const RepositoryFile& file,
                              const fs::path& to) {
  std::error_code error;
  fs::copy_file(repository.folder / file.path, to, fs::copy_options::overwrite_existing, error);
  if (error) {
    return fail(Code::kIo, "{}: {}", (repository.folder / file.path).string(), error.message());
  }
  auto checked = check_file(to, file);
  if (!checked) fs::remove(to, error);
  return checked;
}

}  // namespace signalbox::tools
