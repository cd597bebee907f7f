// The manifest is parsed only when a directory is missing.

#include "weights/manifest_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "weights/manifest.h"

namespace signalbox::weights {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultPlace = "models";

const Manifest& known_models() {
  static const Manifest manifest = Manifest::built_in().value_or(Manifest());
  return manifest;
}

// "models/a/" has the parent "models" and the name "a".
fs::path without_slash(const std::string& directory) {
  return (fs::path(directory) / "").lexically_normal().parent_path();
}

// The name of a head means a model only inside of that model: models/signals/domain.
const ManifestModel* find_model_of(const fs::path& directory) {
  const std::string name = directory.filename().string();
  const ManifestModel* const model = known_models().find(name);
  if (model == nullptr) return nullptr;
  const bool is_head =
      std::find(model->heads.begin(), model->heads.end(), name) != model->heads.end();
  return !is_head || directory.parent_path().filename() == model->name ? model : nullptr;
}

bool is_model(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / "config.json", ignored) ||
         fs::exists(directory / "adapter_config.json", ignored);
}

}  // namespace

std::string installed_directory(const std::string& directory) {
  std::error_code ignored;
  if (directory.empty() || fs::exists(directory, ignored)) return directory;
  const fs::path path = without_slash(directory);
  const ManifestModel* const model = find_model_of(path);
  std::vector<std::string> names = {path.filename().string()};
  if (model != nullptr && model->heads.empty()) names.push_back(model->name);
  for (const fs::path& place : {path.parent_path(), fs::path(kDefaultPlace)}) {
    for (const std::string& name : names) {
      if (is_model(place / name)) return (place / name).string();
    }
  }
  return directory;
}

std::string pull_command(const std::string& directory) {
  fs::path path = without_slash(directory);
  const ManifestModel* const model = find_model_of(path);
  if (model == nullptr) return "";
  const ManifestSource& source = model->sources.front();
  const std::string name = source.is_pinned() ? model->name : fmt::format("hf:{}", source.origin);
  if (path.filename() != model->name && !model->heads.empty()) path = path.parent_path();
  // A configuration may name the repository itself: sentence-transformers/all-MiniLM-L12-v2.
  const bool is_repository = known_models().find_repository(directory) != nullptr;
  const std::string place = path.parent_path().string();
  if (is_repository || place.empty() || place == kDefaultPlace)
    return fmt::format("signalbox models pull {}", name);
  return fmt::format("signalbox models pull {} --to {}", name, place);
}

}  // namespace signalbox::weights
