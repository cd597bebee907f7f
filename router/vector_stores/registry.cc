// A list walks over all records of a kind, which takes little time compared with writing the reply.

#include "router/vector_stores/registry.h"

#include <algorithm>
#include <utility>

namespace signalbox::vector_stores {
namespace {

template <class Map, class Matches>
auto matching(const Map& map, const Matches& matches) {
  std::vector<const typename Map::mapped_type*> out;
  for (const auto& [key, value] : map) {
    if (matches(value)) out.push_back(&value);
  }
  return out;
}

template <class Record>
void sort_by_number(std::vector<const Record*>& records) {
  std::ranges::sort(records, {}, [](const Record* record) { return record->number; });
}

}  // namespace

const File* Registry::file(std::string_view owner, std::string_view id) const {
  const auto found = files_.find(id);
  return found == files_.end() || found->second.owner != owner ? nullptr : &found->second;
}

const Store* Registry::store(std::string_view owner, std::string_view id) const {
  const auto found = stores_.find(id);
  return found == stores_.end() || found->second.owner != owner ? nullptr : &found->second;
}

const Store* Registry::any_store(std::string_view id) const {
  const auto found = stores_.find(id);
  return found == stores_.end() ? nullptr : &found->second;
}

const Store* Registry::named_store(std::string_view name, int64_t now) const {
  const Store* found = store(kOperator, name);
  if (found != nullptr) return found;
  for (const Store* each : stores(kOperator)) {
    if (each->name != name) continue;
    if (!is_expired(*each, now)) return each;
    if (found == nullptr) found = each;
  }
  return found;
}

RegisteredEntry* Registry::entry(std::string_view store, std::string_view file) {
  const auto in_store = by_store_.find(store);
  if (in_store == by_store_.end()) return nullptr;
  const auto found = in_store->second.find(file);
  return found == in_store->second.end() ? nullptr : entry(found->second);
}

RegisteredEntry* Registry::entry(uint64_t number) {
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<const File*> Registry::files(std::string_view owner) const {
  auto out = matching(files_, [&](const File& each) { return each.owner == owner; });
  sort_by_number(out);
  return out;
}

std::vector<const Store*> Registry::stores(std::string_view owner) const {
  auto out = matching(stores_, [&](const Store& each) { return each.owner == owner; });
  sort_by_number(out);
  return out;
}

std::vector<const RegisteredEntry*> Registry::entries(std::string_view store) const {
  std::vector<const RegisteredEntry*> out;
  const auto in_store = by_store_.find(store);
  if (in_store == by_store_.end()) return out;
  for (const auto& [file, number] : in_store->second) out.push_back(&entries_.at(number));
  std::ranges::sort(out, {}, [](const RegisteredEntry* each) { return each->entry.number; });
  return out;
}

std::vector<const RegisteredEntry*> Registry::entries_of_file(std::string_view file) const {
  return matching(entries_, [&](const RegisteredEntry& each) { return each.entry.file == file; });
}

Registry::Usage Registry::usage(std::string_view owner) const {
  const auto found = usage_.find(owner);
  return found == usage_.end() ? Usage() : found->second;
}

Result<void> Registry::admit_bytes(std::string_view owner, uint64_t bytes) const {
  if (next_number_ > kNumberMax)
    return fail(Code::kTooLarge, "there are no more numbers of records");
  if (bytes_ + bytes > limits.bytes)
    return fail(Code::kTooLarge, "the files and stores of all owners may have {} bytes",
                limits.bytes);
  if (owner != kOperator && usage(owner).bytes + bytes > limits.owner_bytes)
    return fail(Code::kTooLarge, "the files and stores of an owner may have {} bytes",
                limits.owner_bytes);
  return {};
}

Result<void> Registry::admit_file(std::string_view owner, uint64_t bytes) const {
  if (bytes > limits.file_bytes)
    return fail(Code::kTooLarge, "file: {} bytes, where a file may have {}", bytes,
                limits.file_bytes);
  if (owner != kOperator && usage(owner).files >= limits.owner_files)
    return fail(Code::kTooLarge, "an owner may have {} files", limits.owner_files);
  return admit_bytes(owner, bytes + kRecordBytes);
}

Result<void> Registry::admit_store(std::string_view owner) const {
  if (owner != kOperator && usage(owner).stores >= limits.owner_stores)
    return fail(Code::kTooLarge, "an owner may have {} vector stores", limits.owner_stores);
  return admit_bytes(owner, kRecordBytes);
}

Result<void> Registry::admit_chunks(std::string_view store, uint64_t chunks) const {
  if (chunks > kEntryChunksMax)
    return fail(Code::kTooLarge, "the file has {} chunks, where it may have {}", chunks,
                kEntryChunksMax);
  for (const RegisteredEntry* each : entries(store)) {
    if (each->chunks != nullptr) chunks += each->chunks->texts.size();
  }
  if (chunks > limits.store_chunks)
    return fail(Code::kTooLarge, "a vector store may have {} chunks", limits.store_chunks);
  return {};
}

void Registry::reserve(std::string_view owner, uint64_t bytes) {
  auto found = usage_.find(owner);
  if (found == usage_.end()) found = usage_.emplace(owner, Usage()).first;
  found->second.bytes += bytes;
  bytes_ += bytes;
}

void Registry::release(std::string_view owner, uint64_t bytes) {
  usage_.find(owner)->second.bytes -= bytes;
  bytes_ -= bytes;
  forget_if_empty(owner);
}

void Registry::forget_if_empty(std::string_view owner) {
  const auto found = usage_.find(owner);
  const Usage& usage = found->second;
  if (usage.bytes == 0 && usage.files == 0 && usage.stores == 0) usage_.erase(found);
}

const std::string& Registry::owner_of_store(std::string_view store) const {
  return stores_.find(store)->second.owner;
}

void Registry::add(File file) {
  reserve(file.owner, file.bytes + kRecordBytes);
  ++usage_[file.owner].files;
  next_number_ = std::max(next_number_, file.number + 1);
  std::string id = file.id;
  files_.insert_or_assign(std::move(id), std::move(file));
}

void Registry::add(Store store) {
  reserve(store.owner, kRecordBytes);
  ++usage_[store.owner].stores;
  next_number_ = std::max(next_number_, store.number + 1);
  std::string id = store.id;
  stores_.insert_or_assign(std::move(id), std::move(store));
}

void Registry::add(Entry entry) {
  reserve(owner_of_store(entry.store), kRecordBytes);
  next_number_ = std::max(next_number_, entry.number + 1);
  by_store_[entry.store][entry.file] = entry.number;
  const uint64_t number = entry.number;
  entries_[number].entry = std::move(entry);
}

void Registry::change(const Store& store) {
  stores_.find(store.id)->second = store;
}

void Registry::touch(const Store& store, int64_t now) {
  Store& touched = stores_.find(store.id)->second;
  touched.last_active = std::max(touched.last_active, now);
  if (touched.expires_days > 0) touched_.insert(touched.id);
}

std::vector<Store> Registry::take_touched() {
  std::vector<Store> out;
  for (const std::string& id : std::exchange(touched_, {})) out.push_back(stores_.at(id));
  return out;
}

void Registry::remove_file(std::string_view id) {
  const auto found = files_.find(id);
  const std::string owner = found->second.owner;
  const uint64_t bytes = found->second.bytes + kRecordBytes;
  --usage_[owner].files;
  files_.erase(found);
  release(owner, bytes);
}

void Registry::remove_store(std::string_view id) {
  const auto found = stores_.find(id);
  const std::string owner = found->second.owner;
  --usage_[owner].stores;
  touched_.erase(found->first);
  stores_.erase(found);
  release(owner, kRecordBytes);
}

void Registry::remove_entry(uint64_t number) {
  const auto found = entries_.find(number);
  const Entry& entry = found->second.entry;
  const std::string owner = owner_of_store(entry.store);
  const uint64_t bytes = entry.bytes + kRecordBytes;
  const auto in_store = by_store_.find(entry.store);
  in_store->second.erase(entry.file);
  if (in_store->second.empty()) by_store_.erase(in_store);
  entries_.erase(found);
  release(owner, bytes);
}

void Registry::set_chunks(RegisteredEntry& registered, Chunks chunks, uint64_t bytes,
                          uint64_t round) {
  const std::string& owner = owner_of_store(registered.entry.store);
  reserve(owner, bytes);
  release(owner, registered.entry.bytes);
  registered.entry.bytes = bytes;
  registered.entry.status = chunks == nullptr ? Status::kInProgress : Status::kCompleted;
  registered.chunks = std::move(chunks);
  registered.round = round;
}

StoreFigures Registry::figures(std::string_view store) const {
  StoreFigures out;
  for (const RegisteredEntry* each : entries(store)) {
    out.bytes += each->entry.bytes;
    out.entries.add(each->entry.status);
  }
  return out;
}

VectorStores::Size Registry::size() const {
  VectorStores::Size out{.files = files_.size(), .stores = stores_.size()};
  for (const auto& [number, registered] : entries_) {
    out.entries.add(registered.entry.status);
  }
  out.bytes = bytes_;
  return out;
}

}  // namespace signalbox::vector_stores
