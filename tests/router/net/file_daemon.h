#pragma once
// Runs a daemon that follows a configuration file in a folder of the test.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {

/// A new folder, removed with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "signalbox_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name << ": cannot be made";
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path at(std::string_view name) const { return path_ / name; }
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories(at(name).parent_path());
    std::ofstream(at(name)) << text;
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::unique_ptr<daemon::Daemon> follow(const std::filesystem::path& file,
                                              models::OpenModels open) {
  auto text = read_file(file, 1 << 20);
  auto loaded = config::load(file);
  if (!text || !loaded) {
    ADD_FAILURE() << (text ? loaded.error().message : text.error().message);
    return nullptr;
  }
  auto daemon =
      daemon::Daemon::start(std::move(loaded->config), std::move(open), {file, *std::move(text)});
  if (!daemon) ADD_FAILURE() << daemon.error().message;
  return daemon ? std::move(*daemon) : nullptr;
}

}  // namespace signalbox::test
