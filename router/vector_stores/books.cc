// Lists walk over all records of a kind: they are short beside the reply that is made of them.

#include "router/vector_stores/books.h"

#include <algorithm>

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

const File* Books::file(std::string_view owner, std::string_view id) const {
  const auto found = files_.find(id);
  return found == files_.end() || found->second.owner != owner ? nullptr : &found->second;
}

const Store* Books::store(std::string_view owner, std::string_view id) const {
  const auto found = stores_.find(id);
  return found == stores_.end() || found->second.owner != owner ? nullptr : &found->second;
}

const Store* Books::any_store(std::string_view id) const {
  const auto found = stores_.find(id);
  return found == stores_.end() ? nullptr : &found->second;
}

const Store* Books::named_store(std::string_view name) const {
  if (const Store* const found = store(kOperator, name)) return found;
  for (const Store* each : stores(kOperator)) {
    if (each->name == name) return each;
  }
  return nullptr;
}

BookedEntry* Books::entry(std::string_view store, std::string_view file) {
  const auto in_store = by_store_.find(store);
  if (in_store == by_store_.end()) return nullptr;
  const auto found = in_store->second.find(file);
  return found == in_store->second.end() ? nullptr : entry(found->second);
}

BookedEntry* Books::entry(uint64_t number) {
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<const File*> Books::files(std::string_view owner) const {
  auto out = matching(files_, [&](const File& each) { return each.owner == owner; });
  sort_by_number(out);
  return out;
}

std::vector<const Store*> Books::stores(std::string_view owner) const {
  auto out = matching(stores_, [&](const Store& each) { return each.owner == owner; });
  sort_by_number(out);
  return out;
}

std::vector<const BookedEntry*> Books::entries(std::string_view store) const {
  std::vector<const BookedEntry*> out;
  const auto in_store = by_store_.find(store);
  if (in_store == by_store_.end()) return out;
  for (const auto& [file, number] : in_store->second) out.push_back(&entries_.at(number));
  std::ranges::sort(out, {}, [](const BookedEntry* each) { return each->entry.number; });
  return out;
}

std::vector<const BookedEntry*> Books::entries_of_file(std::string_view file) const {
  return matching(entries_, [&](const BookedEntry& each) { return each.entry.file == file; });
}

Books::Usage Books::usage(std::string_view owner) const {
  const auto found = usage_.find(owner);
  return found == usage_.end() ? Usage() : found->second;
}

Result<void> Books::admit_bytes(std::string_view owner, uint64_t bytes) const {
  if (bytes_ + bytes > limits.bytes)
    return fail(Code::kTooLarge, "the files and stores of all owners may have {} bytes",
                limits.bytes);
  if (owner != kOperator && usage(owner).bytes + bytes > limits.owner_bytes)
    return fail(Code::kTooLarge, "the files and stores of an owner may have {} bytes",
                limits.owner_bytes);
  return {};
}

Result<void> Books::admit_file(std::string_view owner, uint64_t bytes) const {
  if (bytes > limits.file_bytes)
    return fail(Code::kTooLarge, "file: {} bytes, where a file may have {}", bytes,
                limits.file_bytes);
  if (owner != kOperator && usage(owner).files >= limits.owner_files)
    return fail(Code::kTooLarge, "an owner may have {} files", limits.owner_files);
  return admit_bytes(owner, bytes + kRecordBytes);
}

Result<void> Books::admit_store(std::string_view owner) const {
  if (owner != kOperator && usage(owner).stores >= limits.owner_stores)
    return fail(Code::kTooLarge, "an owner may have {} vector stores", limits.owner_stores);
  return admit_bytes(owner, kRecordBytes);
}

Result<void> Books::admit_chunks(std::string_view store, uint64_t chunks) const {
  if (chunks > kEntryChunksMax)
    return fail(Code::kTooLarge, "the file has {} chunks, where it may have {}", chunks,
                kEntryChunksMax);
  for (const BookedEntry* each : entries(store)) {
    if (each->chunks != nullptr) chunks += each->chunks->size();
  }
  if (chunks > limits.store_chunks)
    return fail(Code::kTooLarge, "a vector store may have {} chunks", limits.store_chunks);
  return {};
}

void Books::reserve(std::string_view owner, uint64_t bytes) {
  auto found = usage_.find(owner);
  if (found == usage_.end()) found = usage_.emplace(owner, Usage()).first;
  found->second.bytes += bytes;
  bytes_ += bytes;
}

void Books::release(std::string_view owner, uint64_t bytes) {
  usage_.find(owner)->second.bytes -= bytes;
  bytes_ -= bytes;
  forget_if_empty(owner);
}

void Books::forget_if_empty(std::string_view owner) {
  const auto found = usage_.find(owner);
  const Usage& usage = found->second;
  if (usage.bytes == 0 && usage.files == 0 && usage.stores == 0) usage_.erase(found);
}

const std::string& Books::owner_of_store(std::string_view store) const {
  return stores_.find(store)->second.owner;
}

void Books::add(File file) {
  reserve(file.owner, file.bytes + kRecordBytes);
  ++usage_[file.owner].files;
  next_number_ = std::max(next_number_, file.number + 1);
  std::string id = file.id;
  files_.insert_or_assign(std::move(id), std::move(file));
}

void Books::add(Store store) {
  reserve(store.owner, kRecordBytes);
  ++usage_[store.owner].stores;
  next_number_ = std::max(next_number_, store.number + 1);
  std::string id = store.id;
  stores_.insert_or_assign(std::move(id), std::move(store));
}

void Books::add(Entry entry) {
  reserve(owner_of_store(entry.store), kRecordBytes);
  next_number_ = std::max(next_number_, entry.number + 1);
  by_store_[entry.store][entry.file] = entry.number;
  const uint64_t number = entry.number;
  entries_[number].entry = std::move(entry);
}

void Books::change(const Store& store) {
  stores_.find(store.id)->second = store;
}

void Books::remove_file(std::string_view id) {
  const auto found = files_.find(id);
  const std::string owner = found->second.owner;
  const uint64_t bytes = found->second.bytes + kRecordBytes;
  --usage_[owner].files;
  files_.erase(found);
  release(owner, bytes);
}

void Books::remove_store(std::string_view id) {
  const auto found = stores_.find(id);
  const std::string owner = found->second.owner;
  --usage_[owner].stores;
  stores_.erase(found);
  release(owner, kRecordBytes);
}

void Books::remove_entry(uint64_t number) {
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

void Books::set_chunks(BookedEntry& booked, Chunks chunks, uint64_t bytes, uint64_t round) {
  const std::string& owner = owner_of_store(booked.entry.store);
  reserve(owner, bytes);
  release(owner, booked.entry.bytes);
  booked.entry.bytes = bytes;
  booked.entry.status = chunks == nullptr ? Status::kInProgress : Status::kCompleted;
  booked.chunks = std::move(chunks);
  booked.round = round;
}

StoreFigures Books::figures(std::string_view store) const {
  StoreFigures out;
  for (const BookedEntry* each : entries(store)) {
    out.bytes += each->entry.bytes;
    ++(each->entry.status == Status::kCompleted ? out.completed
       : each->entry.status == Status::kFailed  ? out.failed
                                                : out.in_progress);
  }
  return out;
}

VectorStores::Size Books::size() const {
  VectorStores::Size out{.files = files_.size(), .stores = stores_.size()};
  for (const auto& [number, booked] : entries_) {
    ++(booked.entry.status == Status::kCompleted ? out.completed
       : booked.entry.status == Status::kFailed  ? out.failed
                                                 : out.in_progress);
  }
  out.bytes = bytes_;
  return out;
}

}  // namespace signalbox::vector_stores
