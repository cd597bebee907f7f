#pragma once
// A new folder, removed with the object.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace signalbox::contexts {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "signalbox_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name << ": cannot be made";
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Returns the files with the extension, in no particular order.
  std::vector<std::filesystem::path> files(std::string_view extension = ".ctx") const {
    std::vector<std::filesystem::path> out;
    for (const auto& each : std::filesystem::directory_iterator(path_)) {
      if (each.path().extension() == extension) out.push_back(each.path());
    }
    return out;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace signalbox::contexts
