// The identity covers all files below a directory instead of a fixed list, because weights may be
// split into shards and a head may have a folder of its own.

#include "router/models/model_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "engine/model_path.h"
#include "weights/manifest_places.h"

namespace signalbox::models {
namespace {

namespace fs = std::filesystem;

/// A model has about a dozen files; a directory with more than this is probably not a model.
constexpr size_t kFilesMax = 1000;
constexpr int kDepthMax = 2;

}  // namespace

std::string identity_of(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  constexpr auto options = fs::directory_options::follow_directory_symlink |
                           fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator at(directory, options, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (at.depth() >= kDepthMax) at.disable_recursion_pending();
    struct stat file {};
    if (::stat(at->path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    files.push_back(fmt::format("{} {} {} {} {}.{}\n", at->path().string(), file.st_dev,
                                file.st_ino, file.st_size, file.st_mtim.tv_sec,
                                file.st_mtim.tv_nsec));
    if (files.size() == kFilesMax) break;
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string& file : files) all += file;
  return all;
}

Result<ModelCache::Model> ModelCache::open_text_model(const std::string& directory) {
  SIGNALBOX_TRY(Model model, engine::TextModel::open(directory));
  return model;
}

Result<ModelCache::Model> ModelCache::get(const std::string& directory) {
  SIGNALBOX_TRY(const engine::ModelPath path, engine::find_model(directory));
  const std::string name = path.model().string();
  // The lock is held while the model is read, so that two callers that need the same model do not
  // both read it.
  const std::lock_guard lock(mutex_);
  // The identity is computed before the model is read. If files change during the read, the next
  // call sees another identity and reads the model again.
  std::string identity = identity_of(path.trunk);
  if (!path.adapter.empty()) identity += identity_of(path.adapter);
  if (!path.apart.empty()) identity += identity_of(path.apart);
  Entry& entry = entries_[name];
  if (entry.identity == identity) {
    if (Model cached = entry.model.lock()) return cached;
  }
  SIGNALBOX_TRY(Model model, open_(name));
  entry = {std::move(identity), model};
  return model;
}

Result<ModelCache::Model> ModelShelf::get(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  if (const auto cached = models_.find(directory); cached != models_.end()) return cached->second;
  std::error_code ignored;
  const std::string place = weights::installed_directory(directory);
  if (!open_ || !fs::exists(place, ignored))
    return fail(Code::kNotFound, "there is no model at {}", directory);
  SIGNALBOX_TRY(ModelCache::Model model, open_(place));
  models_.emplace(directory, model);
  return model;
}

}  // namespace signalbox::models
