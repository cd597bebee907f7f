#pragma once
// Stores contexts as files of a directory, each a record (record.h). A file is there whole or not
// at all: put() writes a temporary file, syncs it, renames it and syncs the directory before it
// returns. A pin is an empty file next to the context.

#include <atomic>
#include <filesystem>
#include <memory>

#include "router/contexts/level.h"

namespace signalbox::contexts {

class DiskLevel final : public Level {
 public:
  /// Creates the directory, readable by its user only, and locks it, because two processes would
  /// not see each other's changes. Errors: kIo.
  static Result<std::unique_ptr<DiskLevel>> open(const std::filesystem::path& directory,
                                                 int compression);
  ~DiskLevel() override;

  std::string_view name() const override { return "disk"; }
  bool is_durable() const override { return true; }
  Result<void> put(const Context& context, std::string_view content) override;
  Result<std::string> get(const Context& context) override;
  Result<void> drop(const Key& key) override;
  Result<void> pin(const Key& key, bool pinned) override;
  /// Removes files that were never renamed; leaves files that are not contexts.
  Recovered recover() override;
  uint64_t bytes() const override { return bytes_; }

 private:
  DiskLevel(std::filesystem::path directory, int compression, int fd)
      : directory_(std::move(directory)), compression_(compression), fd_(fd) {}
  std::filesystem::path file_of(const Key& key, std::string_view extension) const;
  Result<Context> recover_file(const std::filesystem::path& path);
  Result<void> remove(const std::filesystem::path& path) const;
  Result<void> sync() const;

  const std::filesystem::path directory_;
  const int compression_;
  const int fd_;  // the directory, which holds the lock
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace signalbox::contexts
