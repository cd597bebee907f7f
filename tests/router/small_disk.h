#pragma once
// A disk of a few megabytes for the servers of tests, which tests can fill completely. It is memory
// mounted on a folder, in the test's own mount namespace, so it vanishes with the process.

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace signalbox::test {

class SmallDisk {
 public:
  /// Mounts on an existing folder and keeps its owner; see `missing`.
  SmallDisk(std::filesystem::path folder, size_t megabytes) : folder_(std::move(folder)) {
    struct stat before {};
    ::stat(folder_.c_str(), &before);
    // The namespace applies to this thread and to the processes that it starts from now on.
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", folder_.c_str(), "tmpfs", 0,
                                 ("size=" + std::to_string(megabytes) + "m").c_str()) == 0;
    if (!mounted || ::chown(folder_.c_str(), before.st_uid, before.st_gid) != 0)
      missing_ = std::string("no disk can be mounted here: ") + std::strerror(errno);
  }
  ~SmallDisk() {
    if (missing_.empty()) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// The reason for GTEST_SKIP, or "" if the disk exists.
  const std::string& missing() const { return missing_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Uses up all remaining space; returns true once there is none left.
  bool fill() const {
    std::ofstream out(folder_ / kFiller, std::ios::binary | std::ios::app);
    for (const std::string page(4096, 'x'); out.write(page.data(), 4096) && out.flush();) {
    }
    return std::filesystem::space(folder_).available == 0;
  }
  void make_room() const { std::filesystem::remove(folder_ / kFiller); }

 private:
  static constexpr const char* kFiller = "filler";
  std::filesystem::path folder_;
  std::string missing_;
};

}  // namespace signalbox::test
