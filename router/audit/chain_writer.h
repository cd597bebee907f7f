#pragma once
// Writes one chain of the audit log. One thread writes it, so that neither requests nor event loops
// wait for the disk.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "router/audit/file.h"
#include "router/audit/refusals.h"

namespace signalbox::audit {

/// Thread-safe.
class ChainWriter {
 public:
  ChainWriter(std::filesystem::path path, uint64_t bytes_max, uint32_t files_max)
      : path_(std::move(path)), file_(path_, bytes_max, files_max) {}
  /// Writes the entries that wait.
  ~ChainWriter();

  /// Call it before all other functions. Errors: see AuditFile::open().
  Result<void> open();
  /// Never blocks. While 4 MiB of entries are waiting, further ones are dropped and counted, and
  /// one entry reports their number.
  void add(Entry entry);
  /// Like add(), but within the limits of Refusals.
  void add_refusal(const Sender& sender, Entry entry);
  /// Counts a refusal that gets no entry of its own.
  void count_refusal(const Sender& sender);
  /// Adds the entry and waits until the file has it. Errors: kIo if the file cannot be written,
  /// kOverloaded if too much waits.
  Result<void> add_and_wait(Entry entry);
  /// Adds an entry about something that has happened already. Waits until the file contains it, the
  /// file cannot be written, or five seconds have passed. In the last two cases the entry stays
  /// queued, as after add().
  void add_written(Entry entry);
  /// True from an error until everything is written and synced.
  bool is_failing() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Entry entry;
    std::string time;
  };
  void run();
  Result<void> write(const std::deque<Waiting>& entries, size_t& written);
  bool push(Entry entry, uint64_t stands_for = 1);
  Result<void> wait_until_written(std::unique_lock<std::mutex>& lock);
  void push_counts();
  void set_state(const Result<void>& done);

  const std::filesystem::path path_;
  AuditFile file_;  // used only by the thread once it runs

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable wake_, written_;
  uint64_t pushed_ = 0, done_ = 0;  // entries since the start
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  uint64_t dropped_ = 0;
  Refusals refusals_;
  bool failing_ = false;
  std::string trouble_;  // why `is_failing()` is true
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::audit
