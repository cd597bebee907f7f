#pragma once
// The audit log of the process: who changed what, and who was refused. One thread writes it, so
// that neither requests nor event loops wait for the disk.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "router/audit/entry.h"
#include "router/config/config.h"

namespace signalbox::audit {

/// Appends lines to a file and gives it a number when it is full. Not thread-safe.
class AuditFile {
 public:
  AuditFile(std::filesystem::path path, uint64_t bytes_max, uint32_t files_max)
      : path_(std::move(path)), bytes_max_(bytes_max), files_max_(files_max) {}
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Continues the chain of the file, or of its newest predecessor. Returns the bytes of a torn
  /// last line, which it cuts off. Errors: kIo; kInvalid for a last line that is no entry;
  /// kOverloaded if another process writes the file.
  Result<size_t> open();
  /// On an error the file ends where it ended before.
  Result<void> append(const Entry& entry, std::string_view time);
  Result<void> sync();
  /// True if somebody has moved or replaced the file.
  bool is_gone() const;
  const Link& end() const { return end_; }

 private:
  Result<void> lock();
  Result<size_t> recover();
  Result<void> rotate();
  std::vector<std::pair<uint64_t, std::filesystem::path>> predecessors() const;
  void close();

  const std::filesystem::path path_;
  const uint64_t bytes_max_;
  const uint32_t files_max_;
  int lock_ = -1;
  int fd_ = -1;
  uint64_t size_ = 0;
  Link end_;
};

/// Thread-safe. Does nothing before open().
class Log {
 public:
  Log() = default;
  /// Writes what waits.
  ~Log();

  /// Errors: see AuditFile::open().
  Result<void> open(const config::Audit& settings, const std::filesystem::path& config_file);
  bool is_open() const { return thread_.joinable(); }
  /// Never waits. Beyond 4 MiB that wait, entries are counted, and one entry reports their number.
  void add(Entry entry);
  /// The same for a refused request. Beyond a thousand a second, refusals are only counted.
  void add_refusal(Entry entry);
  /// For a change that is about to be made. If the configuration refuses changes that cannot be
  /// noted, adds the entry and waits until the file has it; otherwise does nothing. It blocks, so
  /// it is not for event loops. Errors: kIo if the file cannot be written, kOverloaded if too much
  /// waits.
  Result<void> announce(Entry entry);
  /// True if the last entry could not be written and the configuration then refuses changes.
  bool refuses_changes() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Entry entry;
    std::string time;
  };
  void run();
  Result<void> write(const std::deque<Waiting>& entries, size_t& written);
  bool push(Entry entry);

  std::filesystem::path path_;
  bool refuses_ = false;
  std::unique_ptr<AuditFile> file_;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable wake_, written_;
  uint64_t pushed_ = 0, done_ = 0;  // entries since the start
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  uint64_t dropped_ = 0;
  Clock::time_point second_{};  // in which refusals are counted
  uint32_t refusals_ = 0, omitted_ = 0;
  bool failing_ = false;
  std::string trouble_;  // why
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::audit
