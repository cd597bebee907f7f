#pragma once
// The records of all files and stores in their folder.

#include <string>
#include <string_view>
#include <vector>

#include "router/vector_stores/folder.h"
#include "router/vector_stores/registry.h"

namespace signalbox::vector_stores {

class DiskRecords {
 public:
  explicit DiskRecords(std::unique_ptr<Folder> folder) : folder_(std::move(folder)) {}

  /// Adds what lies in the folder. Returns one line for each record that cannot be read.
  std::vector<std::string> recover(Registry& registry) const;

  Result<void> write(const File& file, std::string_view content) const;
  Result<void> write(const Store& store) const;
  Result<void> write(const Entry& entry) const;
  Result<void> write(const Entry& entry, const Embedded& embedded) const;

  /// Errors: kIo; kCorrupt if the file is missing or has another size.
  Result<std::string> content(const File& file) const;
  /// Errors: kNotFound, kIo, kTooLarge, kCorrupt.
  Result<Embedded> embedded(const Entry& entry, uint64_t bytes_max) const;

  /// Also true if the disk returns an error.
  bool has_embedded(const Entry& entry) const;

  Result<void> remove(const File& file) const;
  Result<void> remove(const Store& store) const;
  /// The vectors stay, because a thread may be writing them; remove_embedded() follows once the
  /// registry does not have the entry any more.
  Result<void> remove(const Entry& entry) const;
  Result<void> remove_embedded(const Entry& entry) const;

 private:
  void recover_entries(std::vector<Entry> entries, Registry& registry,
                       std::vector<std::string>& reports) const;

  void remove_orphans(const std::vector<std::string>& names, const Registry& registry,
                      std::vector<std::string>& reports) const;

  const std::unique_ptr<Folder> folder_;
};

}  // namespace signalbox::vector_stores
