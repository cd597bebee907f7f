#pragma once
// The audit log of the process: who changed what, and who was refused. Changes and refusals have
// files, queues and threads of their own, so that refusals never displace a change.

#include <filesystem>
#include <memory>

#include "router/audit/chain_writer.h"
#include "router/config/config.h"

namespace signalbox::audit {

/// Returns where the refusals are: "audit-refusals.jsonl" beside "audit.jsonl".
std::filesystem::path refusals_file(const std::filesystem::path& file);

/// Thread-safe. Does nothing before open(). The destructor writes the entries that wait.
class Log {
 public:
  /// Errors: see AuditFile::open().
  Result<void> open(const config::Audit& settings, const std::filesystem::path& config_file);
  bool is_open() const { return changes_ != nullptr; }
  /// The file of the changes; "" before open().
  const std::filesystem::path& file() const { return file_; }
  /// Notes that the router has started, with the SHA-256 of the configuration and of the keys file.
  void add_start(std::string_view configuration, std::string_view keys);
  /// Never blocks. While 4 MiB of entries are waiting, further ones are dropped and counted, and
  /// one entry reports their number.
  void add(Entry entry);
  /// For a change that was made and is not answered yet: adds the entry and waits until the file
  /// has it. While the file cannot be written, it does not wait. It blocks, so it is not for event
  /// loops.
  void add_written(Entry entry);
  /// The same as add() for a refused request, within the limits of Refusals.
  void add_refusal(const Sender& sender, Entry entry);
  /// Counts a refusal that gets no entry of its own.
  void count_refusal(const Sender& sender);
  /// For a change that is about to be made. If the configuration refuses changes that cannot be
  /// noted, adds the entry and waits until the file has it; otherwise does nothing. It blocks, so
  /// it is not for event loops. Errors: kIo if the file cannot be written, kOverloaded if too much
  /// waits.
  Result<void> announce(Entry entry);
  /// True if the last entry could not be written and the configuration then refuses changes.
  bool refuses_changes() const;

 private:
  bool refuses_ = false;
  std::filesystem::path file_;
  std::unique_ptr<ChainWriter> changes_, refusals_;  // null before open()
};

}  // namespace signalbox::audit
