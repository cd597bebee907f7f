#pragma once
// Reads small files as a whole, and writes files atomically: a file is written completely or not at
// all.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox {

/// Reads a file. Unlike a mapping, the copy does not change if another process writes to the file.
/// Errors: kNotFound, kIo, and kTooLarge for more than `bytes_max`.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// Writes a temporary file next to `path`, syncs it and renames it. Creates missing parent
/// directories. Follows a symbolic link and replaces its target. Keeps the permissions, and the
/// owner if this process may set it. On an error (kIo naming the path) the old file is unchanged.
/// A pipe or a device is written to directly.
///
/// Do not write one path from two threads or processes at the same time: both use the same
/// temporary file.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

/// The users who may read a written file.
enum class Readers : uint8_t {
  kAll,    // keeps the permissions of an existing file
  kOwner,  // only the file's owner: this process's user, if the file is new
  /// Like kOwner, but a new file that root writes belongs to the owner of its folder, so that a
  /// service can read what root wrote for it.
  kFolderOwner,
};

/// write_file() for content that is too large for one string: call append(), then commit(). Without
/// a commit, or after an error, the old file is unchanged. Not thread-safe.
class FileWriter {
 public:
  /// commit() reports errors from the constructor and from append().
  explicit FileWriter(const std::filesystem::path& path, Readers readers = Readers::kAll);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void append(std::string_view bytes);
  Result<void> commit();

 private:
  std::filesystem::path path_, target_;
  std::filesystem::path partial_;  // empty if the target is written to directly
  int fd_ = -1;
  int failed_ = 0;  // errno of the first failure
};

}  // namespace signalbox
