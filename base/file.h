#pragma once
// Small files as a whole: read into memory, and written so that they are there whole or not at all.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox {

/// The bytes of a file. Unlike a mapping they stay what they were when somebody writes to the file
/// meanwhile. Errors: kNotFound, kIo, and kTooLarge for more than `bytes_max`.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// Writes beside `path`, to the disk, and renames; makes the folders on the way. A symbolic link
/// stays one, and what it leads to is replaced; permissions stay. After an error, kIo naming the
/// path, the file is what it was. Two writers of one path at a time would disturb each other. What
/// is no file, a pipe or a device, is written to as it stands.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

/// Who may read a file that is written; kAll as far as the permissions that it had say.
enum class Readers : uint8_t { kAll, kOwner };

/// write_file for what is too large to be one string: append, then commit. Without a commit, or
/// after an error, the file is what it was. Not thread-safe.
class FileWriter {
 public:
  /// What fails here or in append() is said by commit().
  explicit FileWriter(const std::filesystem::path& path, Readers readers = Readers::kAll);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void append(std::string_view bytes);
  Result<void> commit();

 private:
  std::filesystem::path path_, target_;
  std::filesystem::path partial_;  // "" where the target is written to as it stands
  int fd_ = -1;
  int failed_ = 0;  // the number of the system's first error
};

}  // namespace signalbox
