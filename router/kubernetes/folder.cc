// The folder of a ConfigMap holds its files as links, along with names that begin with two dots.

#include "router/kubernetes/folder.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/yaml_tree.h"

namespace signalbox::kubernetes {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesMax = 256;

bool is_wanted(const fs::path& path) {
  const fs::path extension = path.extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> read_texts(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator each(folder, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    if (is_wanted(each->path())) paths.push_back(each->path());
    if (paths.size() > kFilesMax)
      return fail(Code::kTooLarge, "{}: more than {} files", folder.string(), kFilesMax);
  }
  if (error) return fail(Code::kIo, "{}: {}", folder.string(), error.message());
  std::sort(paths.begin(), paths.end());
  std::vector<std::pair<std::string, std::string>> out;
  for (const fs::path& path : paths) {
    SIGNALBOX_TRY(std::string text, read_file(path, kEventBytesMax));
    out.emplace_back(path.string(), std::move(text));
  }
  return out;
}

Result<Found> read_resources(const std::vector<std::pair<std::string, std::string>>& texts) {
  Found out;
  for (const auto& [name, text] : texts) {
    SIGNALBOX_TRY(const yaml::Node root, yaml::parse(text, name));
    const std::string_view kind = yaml::tree::scalar(root, "kind");
    if (kind != "IntelligentPool" && kind != "IntelligentRoute") continue;
    Resource resource;
    resource.name = name;
    if (const yaml::Node* spec = root.find("spec")) resource.spec = *spec;
    (kind == "IntelligentPool" ? out.pools : out.routes).push_back(std::move(resource));
  }
  return out;
}

}  // namespace signalbox::kubernetes
