// A file is one line with its record, then its content, so that both appear at once.

#include "router/vector_stores/disk_records.h"

#include <algorithm>
#include <set>

namespace signalbox::vector_stores {
namespace {

constexpr std::string_view kFileEnd = ".file", kStoreEnd = ".store", kEntryEnd = ".entry",
                           kEmbeddedEnd = ".vectors";
constexpr size_t kRecordBytesMax = size_t{64} << 10;

std::string name_in_folder(std::string_view id, std::string_view end) {
  return fmt::format("{}{}", id, end);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

Result<File> recover_file(const Folder& folder, const std::string& name) {
  SIGNALBOX_TRY(const Folder::Front front, folder.read_front(name, kRecordBytesMax));
  const std::string_view line = first_line(front.text);
  SIGNALBOX_TRY(File file, read_file_record(line));
  const uint64_t whole = line.size() + 1 + file.bytes;
  if (front.bytes != whole)
    return fail(Code::kCorrupt, "it has {} of {} bytes", front.bytes, whole);
  return file;
}

Result<Store> recover_store(const Folder& folder, const std::string& name) {
  SIGNALBOX_TRY(const std::string text, folder.read(name, kRecordBytesMax));
  return read_store_record(text);
}

Result<Entry> recover_entry(const Folder& folder, const std::string& name) {
  SIGNALBOX_TRY(const std::string text, folder.read(name, kRecordBytesMax));
  return read_entry_record(text);
}

/// Reads all records of one kind. `read` is one of the functions above.
template <class Record>
std::vector<Record> recover_kind(const Folder& folder, const std::vector<std::string>& names,
                                 std::string_view end,
                                 Result<Record> (*read)(const Folder&, const std::string&),
                                 std::vector<std::string>& reports) {
  std::vector<Record> out;
  for (const std::string& name : names) {
    if (!name.ends_with(end)) continue;
    Result<Record> record = read(folder, name);
    if (record && name_in_folder(record->id, end) != name)
      record = fail(Code::kCorrupt, "it contains a record of another name");
    if (record) {
      out.push_back(*std::move(record));
    } else {
      reports.push_back(fmt::format("{}: {}", name, record.error().message));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> DiskRecords::recover(Registry& registry) const {
  std::vector<std::string> reports;
  const auto names = folder_->list();
  if (!names) return {names.error().message};
  for (File& file : recover_kind(*folder_, *names, kFileEnd, recover_file, reports))
    registry.add(std::move(file));
  for (Store& store : recover_kind(*folder_, *names, kStoreEnd, recover_store, reports))
    registry.add(std::move(store));
  recover_entries(recover_kind(*folder_, *names, kEntryEnd, recover_entry, reports), registry,
                  reports);
  remove_orphans(*names, registry, reports);
  return reports;
}

// A router that was killed may have removed an entry, but not its vectors.
void DiskRecords::remove_orphans(const std::vector<std::string>& names, const Registry& registry,
                                 std::vector<std::string>& reports) const {
  std::set<std::string> known;
  for (const auto& [number, registered] : registry.all_entries())
    known.insert(name_in_folder(registered.entry.id, kEmbeddedEnd));
  for (const std::string& name : names) {
    if (!name.ends_with(kEmbeddedEnd) || known.contains(name)) continue;
    if (const auto removed = folder_->remove(name); !removed)
      reports.push_back(removed.error().message);
  }
}

// If a file has two entries, the later one has replaced the other.
void DiskRecords::recover_entries(std::vector<Entry> entries, Registry& registry,
                                  std::vector<std::string>& reports) const {
  std::ranges::sort(entries, {}, &Entry::number);
  for (Entry& entry : entries) {
    const Store* const store = registry.any_store(entry.store);
    if (store == nullptr || registry.file(store->owner, entry.file) == nullptr) {
      reports.push_back(
          fmt::format("{}: its store or its file is missing", name_in_folder(entry.id, kEntryEnd)));
      continue;
    }
    // Somebody has merged two folders. Give a new number, because two entries must not share the
    // ids of their vectors.
    if (registry.entry(entry.number) != nullptr) entry.number = registry.next_number();
    if (const RegisteredEntry* const old = registry.entry(entry.store, entry.file)) {
      if (const auto removed = remove(old->entry); !removed)
        reports.push_back(removed.error().message);
      registry.remove_entry(old->entry.number);
    }
    registry.add(std::move(entry));
  }
}

Result<void> DiskRecords::write(const File& file, std::string_view content) const {
  return folder_->write(name_in_folder(file.id, kFileEnd), write_record(file), content);
}
Result<void> DiskRecords::write(const Store& store) const {
  return folder_->write(name_in_folder(store.id, kStoreEnd), write_record(store));
}
Result<void> DiskRecords::write(const Entry& entry) const {
  return folder_->write(name_in_folder(entry.id, kEntryEnd), write_record(entry));
}
Result<void> DiskRecords::write(const Entry& entry, const Embedded& embedded) const {
  return folder_->write(name_in_folder(entry.id, kEmbeddedEnd), write_record(embedded));
}

Result<std::string> DiskRecords::content(const File& file) const {
  auto all = folder_->read(name_in_folder(file.id, kFileEnd), kRecordBytesMax + file.bytes);
  const bool is_lost = !all && all.error().code != Code::kIo;
  if (!all && !is_lost) return all;
  const size_t record = is_lost ? 0 : first_line(*all).size() + 1;
  if (is_lost || all->size() != record + file.bytes)
    return fail(Code::kCorrupt, "{}: its file is missing or has another size", file.id);
  all->erase(0, record);
  return all;
}

Result<Embedded> DiskRecords::embedded(const Entry& entry, uint64_t bytes_max) const {
  SIGNALBOX_TRY(const std::string bytes,
                folder_->read(name_in_folder(entry.id, kEmbeddedEnd), bytes_max));
  return read_embedded(bytes);
}

bool DiskRecords::has_embedded(const Entry& entry) const {
  const auto front = folder_->read_front(name_in_folder(entry.id, kEmbeddedEnd), 1);
  return front || front.error().code != Code::kNotFound;
}

Result<void> DiskRecords::remove(const File& file) const {
  return folder_->remove(name_in_folder(file.id, kFileEnd));
}
Result<void> DiskRecords::remove(const Store& store) const {
  return folder_->remove(name_in_folder(store.id, kStoreEnd));
}
Result<void> DiskRecords::remove(const Entry& entry) const {
  return folder_->remove(name_in_folder(entry.id, kEntryEnd));
}
Result<void> DiskRecords::remove_embedded(const Entry& entry) const {
  return folder_->remove(name_in_folder(entry.id, kEmbeddedEnd));
}

}  // namespace signalbox::vector_stores
