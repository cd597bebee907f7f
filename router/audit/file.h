#pragma once
// A file of the audit log.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "router/audit/entry.h"

namespace signalbox::audit {

/// Appends lines to a file. A full file is renamed to a numbered one, and a new file begins. Not
/// thread-safe.
class AuditFile {
 public:
  AuditFile(std::filesystem::path path, uint64_t bytes_max, uint32_t files_max)
      : path_(std::move(path)), bytes_max_(bytes_max), files_max_(files_max) {}
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Continues the chain of the file, or of its newest predecessor. Only the owner may read the
  /// file afterwards. Returns the bytes of a torn last line, which it cuts off. Errors: kIo;
  /// kInvalid for a last line that is not an entry, or a file of another user; kOverloaded if
  /// another process writes the file.
  Result<size_t> open();
  /// On an error the file ends where it ended before.
  Result<void> append(const Entry& entry, std::string_view time);
  /// Syncs the file, and its folder if the file is new there.
  Result<void> sync();
  /// Returns "file_replaced" if somebody has moved or removed the file, "file_truncated" if
  /// somebody has cut off its end, and "" otherwise. After damage, open() continues with the file
  /// that exists.
  std::string_view damage() const;
  const Link& end() const { return end_; }

 private:
  Result<void> lock();
  Result<size_t> recover();
  Result<void> cut_tail();
  Result<void> rotate();
  std::vector<std::pair<uint64_t, std::filesystem::path>> predecessors() const;
  void close();

  const std::filesystem::path path_;
  const uint64_t bytes_max_;
  const uint32_t files_max_;
  int lock_ = -1;
  int fd_ = -1;
  uint64_t size_ = 0;
  bool is_new_ = false;  // the folder is not synced since the file was made or renamed
  Link end_;
};

}  // namespace signalbox::audit
