// Directories are walked rather than three files named: weights come in shards, and a head may have
// a folder of its own.

#include "router/models/model_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "engine/model_path.h"

namespace signalbox::models {
namespace {

namespace fs = std::filesystem;

/// Models have a dozen files; beyond this somebody named the wrong directory.
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
  // Under the lock: two that ask for one model at a time would else both read it.
  const std::lock_guard lock(mutex_);
  // Looked at first: of files that change while they are read, the next call finds others.
  std::string identity = identity_of(path.trunk);
  if (!path.adapter.empty()) identity += identity_of(path.adapter);
  if (!path.apart.empty()) identity += identity_of(path.apart);
  Entry& entry = entries_[name];
  if (entry.identity == identity) {
    if (Model known = entry.model.lock()) return known;
  }
  SIGNALBOX_TRY(Model model, open_(name));
  entry = {std::move(identity), model};
  return model;
}

Result<ModelCache::Model> ModelShelf::get(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = models_.find(directory); known != models_.end()) return known->second;
  std::error_code ignored;
  if (!open_ || !fs::exists(directory, ignored))
    return fail(Code::kNotFound, "there is no model at {}", directory);
  SIGNALBOX_TRY(ModelCache::Model model, open_(directory));
  models_.emplace(directory, model);
  return model;
}

}  // namespace signalbox::models
