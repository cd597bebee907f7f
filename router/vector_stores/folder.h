#pragma once
// The folder of the files and stores. A record is there whole or not at all: it is written to a
// temporary file, synced and renamed, and the folder is synced before a change is acknowledged.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::vector_stores {

/// Thread-safe for different names.
class Folder {
 public:
  /// Creates the folder, readable by its user only, and locks it, because two processes would not
  /// see each other's changes. Removes files that were never renamed. Names of other files than
  /// ours do not begin with one of `prefixes`; they are left alone. Errors: kIo.
  static Result<std::unique_ptr<Folder>> open(const std::filesystem::path& path,
                                              std::vector<std::string> prefixes);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes both texts, one after the other, as one file. Errors: kIo.
  Result<void> write(std::string_view name, std::string_view text,
                     std::string_view more = {}) const;
  /// Errors: kNotFound, kIo, kTooLarge.
  Result<std::string> read(std::string_view name, size_t bytes_max) const;
  /// The first bytes of a file, at most `bytes_max`, and the size of all. Errors: kNotFound, kIo.
  struct Front {
    std::string text;
    uint64_t bytes = 0;
  };
  Result<Front> read_front(std::string_view name, size_t bytes_max) const;
  /// A file that does not exist is not an error. Errors: kIo.
  Result<void> remove(std::string_view name) const;
  /// The names of all files of ours, in no order. Leaves out links, because their targets may
  /// belong to somebody else. Errors: kIo.
  Result<std::vector<std::string>> list() const;

 private:
  Folder(std::filesystem::path path, std::vector<std::string> prefixes, int fd)
      : path_(std::move(path)), prefixes_(std::move(prefixes)), fd_(fd) {}
  Result<void> sync() const;

  const std::filesystem::path path_;
  const std::vector<std::string> prefixes_;
  const int fd_;  // holds the lock
};

}  // namespace signalbox::vector_stores
