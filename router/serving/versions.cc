// Names sort by time.

#include "router/serving/versions.h"

#include <algorithm>
#include <ctime>

#include "base/file.h"
#include "router/config/load.h"

namespace signalbox::serving {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKept = 10;

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

}  // namespace

Versions::Versions(const fs::path& file)
    : folder_(file.parent_path() / ".signalbox" / "config-versions"),
      prefix_(file.filename().string() + ".") {}

Result<std::string> Versions::keep(std::string_view text) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error) return fail(Code::kIo, "{}: {}", folder_.string(), error.message());
  const std::string second = now();
  std::string name = second;
  for (int i = 2; fs::exists(folder_ / (prefix_ + name), error); ++i)
    name = fmt::format("{}-{}", second, i);
  // The configuration may hold secrets, so nobody else may read its copies.
  FileWriter copy(folder_ / (prefix_ + name), Readers::kOwner);
  copy.append(text);
  SIGNALBOX_TRY_VOID(copy.commit());
  const std::vector<Version> all = list();
  for (size_t i = kKept; i < all.size(); ++i) fs::remove(all[i].file, error);
  return name;
}

std::vector<Versions::Version> Versions::list() const {
  std::vector<Version> all;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix_) && !name.ends_with(".partial"))
      all.push_back({name.substr(prefix_.size()), at->path()});
  }
  // "-10" is later than "-9".
  std::sort(all.begin(), all.end(), [](const Version& a, const Version& b) {
    const std::string_view day_a = std::string_view(a.name).substr(0, 15);
    const std::string_view day_b = std::string_view(b.name).substr(0, 15);
    if (day_a != day_b) return day_a > day_b;
    if (a.name.size() != b.name.size()) return a.name.size() > b.name.size();
    return a.name > b.name;
  });
  return all;
}

Result<std::string> Versions::read(std::string_view name) const {
  for (const Version& version : list()) {
    if (version.name == name) return read_file(version.file, config::kFileBytesMax);
  }
  return fail(Code::kNotFound, "there is no version \"{}\"", name);
}

}  // namespace signalbox::serving
