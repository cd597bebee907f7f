// Every change, a removal included, is made on the disk first and in the registry second, so that
// acknowledged changes are on the disk.

#include "router/vector_stores/vector_stores.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <stop_token>
#include <thread>

#include "base/log.h"
#include "base/sleep.h"
#include "router/vector_stores/disk_records.h"
#include "router/vector_stores/indexer.h"
#include "router/vector_stores/registry.h"

namespace signalbox::vector_stores {
namespace {

constexpr std::chrono::minutes kSweepPause{10};

std::string new_id(std::string_view prefix) {
  thread_local std::random_device random;
  return fmt::format("{}{:08x}{:08x}{:08x}{:08x}", prefix, random(), random(), random(), random());
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

tl::unexpected<Error> no_file(std::string_view id) {
  return fail(Code::kNotFound, "there is no file {}", json::quote_briefly(id));
}
tl::unexpected<Error> no_store(std::string_view id) {
  return fail(Code::kNotFound, "there is no vector store {}", json::quote_briefly(id));
}
tl::unexpected<Error> expired(std::string_view id) {
  return fail(Code::kNotFound, "the vector store {} has expired", json::quote_briefly(id));
}
tl::unexpected<Error> no_entry(std::string_view store, std::string_view file) {
  return fail(Code::kNotFound, "the vector store {} has no file {}", json::quote_briefly(store),
              json::quote_briefly(file));
}

Result<void> check_name(std::string_view name, const std::vector<std::string>& extensions) {
  if (name.empty() || name.size() > kNameBytesMax)
    return fail(Code::kInvalid, "file: expected a name of 1 to {} bytes", kNameBytesMax);
  const std::string extension = extension_of(name);
  if (is_readable(extension) && std::ranges::find(extensions, extension) != extensions.end())
    return {};
  std::string known;
  for (const std::string& each : extensions) known += (known.empty() ? "" : ", ") + each;
  return fail(Code::kInvalid, "file: files of the type {} are not read (known: {})",
              json::quote_briefly(extension), known);
}

}  // namespace

struct VectorStores::Impl {
  explicit Impl(std::unique_ptr<Folder> folder) : disk(std::move(folder)) {}

  StoreView view(const Store& of) const {
    return {of, shared.registry.figures(of.id), is_expired(of, seconds_now())};
  }

  /// Marks the store as used now. Call it under the lock of the registry.
  Result<void> use(const Store* store, std::string_view id, int64_t now = seconds_now()) {
    if (store == nullptr) return no_store(id);
    if (is_expired(*store, now)) return expired(id);
    shared.registry.touch(*store, now);
    return {};
  }

  /// Under `changing`.
  Result<void> empty(Store store) {
    std::vector<Entry> all;
    {
      const std::lock_guard lock(shared.mutex);
      for (const RegisteredEntry* each : shared.registry.entries(store.id))
        all.push_back(each->entry);
    }
    SIGNALBOX_TRY_VOID(remove_entries(all));
    store.is_emptied = true;
    return change(store);
  }
  Result<void> change(const Store& store) {
    SIGNALBOX_TRY_VOID(disk.write(store));
    const std::lock_guard lock(shared.mutex);
    shared.registry.change(store);
    return {};
  }
  std::vector<Store> stores_to_empty(int64_t now) const {
    const std::lock_guard lock(shared.mutex);
    std::vector<Store> out;
    for (const auto& [id, store] : shared.registry.all_stores()) {
      if (!store.is_emptied && is_expired(store, now)) out.push_back(store);
    }
    return out;
  }
  /// Writes when the stores that expire were used last. Under `changing`.
  void write_uses() {
    std::vector<Store> used;
    {
      const std::lock_guard lock(shared.mutex);
      used = shared.registry.take_touched();
    }
    for (const Store& each : used) {
      const auto written = disk.write(each);
      if (written) continue;
      log::warn("vector_stores", "{}", written.error().message);
      const std::lock_guard lock(shared.mutex);
      shared.registry.touch(each, each.last_active);
    }
  }
  /// See VectorStores::expire().
  void expire(int64_t now) {
    const std::lock_guard lock(shared.changing);
    for (const Store& each : stores_to_empty(now)) {
      if (auto done = empty(each); !done) log::warn("vector_stores", "{}", done.error().message);
    }
    write_uses();
  }
  void sweep(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      expire(seconds_now());
      sleep(stop, kSweepPause);
    }
  }

  /// Removes an entry from the disk, the registry and the index. Under `changing`.
  Result<void> remove_entry(const Entry& entry) {
    SIGNALBOX_TRY_VOID(disk.remove(entry));
    size_t chunks = 0;
    {
      const std::lock_guard lock(shared.mutex);
      const RegisteredEntry* const registered = shared.registry.entry(entry.number);
      if (registered->chunks != nullptr) chunks = registered->chunks->texts.size();
      shared.registry.remove_entry(entry.number);
    }
    indexer->remove(entry.number, chunks);
    return disk.remove_embedded(entry);
  }
  Result<void> remove_entries(const std::vector<Entry>& entries) {
    for (const Entry& each : entries) SIGNALBOX_TRY_VOID(remove_entry(each));
    return {};
  }

  /// The entries of files that a store takes up, which are not in the registry yet, if there is
  /// space for all of them. Under `changing`.
  Result<std::vector<Entry>> admit(std::string_view owner, std::string_view store,
                                   std::vector<Addition> files, const std::string& batch) {
    const std::lock_guard lock(shared.mutex);
    SIGNALBOX_TRY_VOID(use(shared.registry.store(owner, store), store));
    SIGNALBOX_TRY_VOID(shared.registry.admit_bytes(owner, files.size() * kRecordBytes));
    std::vector<Entry> out;
    for (Addition& each : files) {
      if (shared.registry.file(owner, each.file) == nullptr) return no_file(each.file);
      Entry made{new_id(kEntryIdPrefix), std::string(store), std::move(each.file), each.chunking,
                 std::move(each.attributes)};
      made.batch = batch;
      made.created = seconds_now();
      made.number = shared.registry.next_number();
      out.push_back(std::move(made));
    }
    return out;
  }
  /// Removes the records of entries that did not reach the registry. Otherwise nobody could remove
  /// them later, and a restart would bring them back.
  void withdraw(std::span<const Entry> entries) const {
    for (const Entry& each : entries) {
      if (auto removed = disk.remove(each); !removed)
        log::warn("vector_stores", "{}", removed.error().message);
    }
  }
  /// Puts an entry that is on the disk in the place of an older one of its file. Under `changing`.
  Result<void> put(const Entry& made) {
    std::optional<Entry> replaced;
    {
      const std::lock_guard lock(shared.mutex);
      const RegisteredEntry* const old = shared.registry.entry(made.store, made.file);
      if (old != nullptr) replaced = old->entry;
    }
    if (replaced) SIGNALBOX_TRY_VOID(remove_entry(*replaced));
    {
      const std::lock_guard lock(shared.mutex);
      shared.registry.add(made);
    }
    indexer->add(made.number);
    return {};
  }
  /// All records are on the disk before the first entry is replaced, so that a batch that does not
  /// fit changes nothing.
  Result<std::vector<Entry>> attach(std::string_view owner, std::string_view store,
                                    std::vector<Addition> files, const std::string& batch) {
    const std::lock_guard changing(shared.changing);
    SIGNALBOX_TRY(std::vector<Entry> made, admit(owner, store, std::move(files), batch));
    const std::span<const Entry> all(made);
    for (size_t i = 0; i < all.size(); ++i) {
      auto written = disk.write(all[i]);
      if (written) continue;
      withdraw(all.first(i));
      return tl::unexpected<Error>(std::move(written).error());
    }
    for (size_t i = 0; i < all.size(); ++i) {
      auto done = put(all[i]);
      if (done) continue;
      withdraw(all.subspan(i));
      return tl::unexpected<Error>(std::move(done).error());
    }
    return made;
  }

  /// The store's entry of the file. Under the lock of the registry.
  Result<Entry> find_entry(std::string_view owner, std::string_view store, std::string_view file) {
    if (shared.registry.store(owner, store) == nullptr) return no_store(store);
    const RegisteredEntry* const found = shared.registry.entry(store, file);
    if (found == nullptr) return no_entry(store, file);
    return found->entry;
  }

  /// The same for a change, which is a use of the store. Under `changing`.
  Result<Entry> entry_to_change(std::string_view owner, std::string_view store,
                                std::string_view file) {
    const std::lock_guard lock(shared.mutex);
    SIGNALBOX_TRY_VOID(use(shared.registry.store(owner, store), store));
    return find_entry(owner, store, file);
  }

  SharedRegistry shared;
  const DiskRecords disk;
  std::unique_ptr<Indexer> indexer;
  std::jthread sweeper;
};

VectorStores::VectorStores(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
VectorStores::~VectorStores() {
  impl_->sweeper = std::jthread();
  const std::lock_guard changing(impl_->shared.changing);
  impl_->write_uses();
}

Result<std::unique_ptr<VectorStores>> VectorStores::open(const std::filesystem::path& folder,
                                                         uint32_t workers,
                                                         std::vector<std::string>& reports) {
  SIGNALBOX_TRY(auto opened,
                Folder::open(folder, {std::string(kFileIdPrefix), std::string(kStoreIdPrefix),
                                      std::string(kEntryIdPrefix)}));
  auto impl = std::make_unique<Impl>(std::move(opened));
  for (const std::string& report : impl->disk.recover(impl->shared.registry))
    reports.push_back(fmt::format("{}: {}", folder.string(), report));
  impl->indexer = std::make_unique<Indexer>(impl->shared, impl->disk, workers);
  Impl* const started = impl.get();
  started->sweeper = std::jthread([started](const std::stop_token& stop) { started->sweep(stop); });
  return std::unique_ptr<VectorStores>(new VectorStores(std::move(impl)));
}

void VectorStores::set_limits(Limits limits) {
  const std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.registry.limits = std::move(limits);
}

void VectorStores::set_embedder(Embedder embedder) {
  impl_->indexer->set_embedder(std::move(embedder));
}

// --- files ---

// Reserves the room before the file is written, so that concurrent uploads stay within the limits.
Result<File> VectorStores::add_file(std::string_view owner, std::string name, std::string purpose,
                                    std::string_view content) {
  Registry& registry = impl_->shared.registry;
  std::vector<std::string> extensions;
  {
    const std::lock_guard lock(impl_->shared.mutex);
    extensions = registry.limits.extensions;
    SIGNALBOX_TRY_VOID(registry.admit_file(owner, content.size()));
  }
  SIGNALBOX_TRY_VOID(check_name(name, extensions));
  if (auto text = document_text(name, content); !text)
    return tl::unexpected<Error>(std::move(text).error());
  File file{new_id(kFileIdPrefix), std::string(owner), std::move(name), std::move(purpose)};
  file.bytes = content.size();
  file.created = seconds_now();
  {
    const std::lock_guard lock(impl_->shared.mutex);
    SIGNALBOX_TRY_VOID(registry.admit_file(owner, file.bytes));
    file.number = registry.next_number();
    registry.reserve(owner, file.bytes);
  }
  const auto written = impl_->disk.write(file, content);
  const std::lock_guard lock(impl_->shared.mutex);
  registry.release(owner, file.bytes);
  if (!written) return tl::unexpected<Error>(written.error());
  registry.add(file);
  return file;
}

std::vector<File> VectorStores::files(std::string_view owner) const {
  const std::lock_guard lock(impl_->shared.mutex);
  std::vector<File> out;
  for (const File* each : impl_->shared.registry.files(owner)) out.push_back(*each);
  return out;
}

Result<File> VectorStores::file(std::string_view owner, std::string_view id) const {
  const std::lock_guard lock(impl_->shared.mutex);
  const File* const found = impl_->shared.registry.file(owner, id);
  if (found == nullptr) return no_file(id);
  return *found;
}

Result<std::string> VectorStores::content(std::string_view owner, std::string_view id) const {
  SIGNALBOX_TRY(const File found, file(owner, id));
  Result<std::string> out = impl_->disk.content(found);
  if (!out && !file(owner, id)) return no_file(id);  // it was deleted meanwhile
  return out;
}

Result<void> VectorStores::remove_file(std::string_view owner, std::string_view id) {
  const std::lock_guard changing(impl_->shared.changing);
  SIGNALBOX_TRY(const File found, file(owner, id));
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(impl_->shared.mutex);
    for (const RegisteredEntry* each : impl_->shared.registry.entries_of_file(id))
      entries.push_back(each->entry);
  }
  SIGNALBOX_TRY_VOID(impl_->remove_entries(entries));
  SIGNALBOX_TRY_VOID(impl_->disk.remove(found));
  const std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.registry.remove_file(id);
  return {};
}

// --- stores ---

Result<StoreView> VectorStores::create_store(std::string_view owner, std::string name,
                                             Metadata metadata, uint32_t expires_days) {
  const std::lock_guard changing(impl_->shared.changing);
  Store made{new_id(kStoreIdPrefix), std::string(owner), std::move(name), std::move(metadata)};
  made.created = made.last_active = seconds_now();
  made.expires_days = expires_days;
  {
    const std::lock_guard lock(impl_->shared.mutex);
    SIGNALBOX_TRY_VOID(impl_->shared.registry.admit_store(owner));
    made.number = impl_->shared.registry.next_number();
  }
  SIGNALBOX_TRY_VOID(impl_->disk.write(made));
  const std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.registry.add(made);
  return impl_->view(made);
}

std::vector<StoreView> VectorStores::stores(std::string_view owner) const {
  const std::lock_guard lock(impl_->shared.mutex);
  std::vector<StoreView> out;
  for (const Store* each : impl_->shared.registry.stores(owner)) out.push_back(impl_->view(*each));
  return out;
}

Result<StoreView> VectorStores::store(std::string_view owner, std::string_view id) const {
  const std::lock_guard lock(impl_->shared.mutex);
  const Store* const found = impl_->shared.registry.store(owner, id);
  if (found == nullptr) return no_store(id);
  return impl_->view(*found);
}

Result<StoreView> VectorStores::change_store(std::string_view owner, std::string_view id,
                                             std::optional<std::string> name,
                                             std::optional<Metadata> metadata,
                                             std::optional<uint32_t> expires_days) {
  const std::lock_guard changing(impl_->shared.changing);
  SIGNALBOX_TRY(StoreView found, store(owner, id));
  if (found.is_expired) return expired(id);
  found.store.last_active = seconds_now();
  if (expires_days) found.store.expires_days = *expires_days;
  if (name) found.store.name = *std::move(name);
  if (metadata) found.store.metadata = *std::move(metadata);
  SIGNALBOX_TRY_VOID(impl_->change(found.store));
  const std::lock_guard lock(impl_->shared.mutex);
  return impl_->view(found.store);
}

// Removes the store last. If the router is killed meanwhile, the store remains with some of its
// files.
Result<void> VectorStores::remove_store(std::string_view owner, std::string_view id) {
  const std::lock_guard changing(impl_->shared.changing);
  SIGNALBOX_TRY(const std::vector<Entry> all, entries(owner, id));
  SIGNALBOX_TRY(const StoreView found, store(owner, id));
  SIGNALBOX_TRY_VOID(impl_->remove_entries(all));
  SIGNALBOX_TRY_VOID(impl_->disk.remove(found.store));
  const std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.registry.remove_store(id);
  return {};
}

// --- files of stores ---

Result<Entry> VectorStores::attach(std::string_view owner, std::string_view store,
                                   std::string_view file, Chunking chunking,
                                   Attributes attributes) {
  SIGNALBOX_TRY(
      std::vector<Entry> made,
      impl_->attach(owner, store, {{std::string(file), chunking, std::move(attributes)}}, ""));
  return std::move(made.front());
}

Result<std::vector<Entry>> VectorStores::attach_batch(std::string_view owner,
                                                      std::string_view store,
                                                      std::vector<Addition> files) {
  return impl_->attach(owner, store, std::move(files), new_id(kBatchIdPrefix));
}

// Skips entries that were embedded before, because another model only embeds them again. Changes
// the registry first, so that no thread completes an entry whose record is cancelled. After a disk
// error, a repeated call writes the records.
Result<void> VectorStores::cancel_batch(std::string_view owner, std::string_view store,
                                        std::string_view batch) {
  const std::lock_guard changing(impl_->shared.changing);
  std::vector<Entry> found;
  {
    const std::lock_guard lock(impl_->shared.mutex);
    SIGNALBOX_TRY_VOID(impl_->use(impl_->shared.registry.store(owner, store), store));
    for (const RegisteredEntry* each : impl_->shared.registry.entries(store)) {
      if (each->entry.batch == batch) found.push_back(each->entry);
    }
  }
  for (Entry& each : found) {
    if (impl_->disk.has_embedded(each)) continue;
    {
      const std::lock_guard lock(impl_->shared.mutex);
      Entry& entry = impl_->shared.registry.entry(each.number)->entry;
      if (entry.status == Status::kInProgress) entry.status = Status::kCancelled;
      each = entry;
    }
    if (each.status == Status::kCancelled) SIGNALBOX_TRY_VOID(impl_->disk.write(each));
  }
  return {};
}

Result<std::vector<Entry>> VectorStores::entries(std::string_view owner,
                                                 std::string_view store) const {
  const std::lock_guard lock(impl_->shared.mutex);
  if (impl_->shared.registry.store(owner, store) == nullptr) return no_store(store);
  std::vector<Entry> out;
  for (const RegisteredEntry* each : impl_->shared.registry.entries(store))
    out.push_back(each->entry);
  return out;
}

Result<Entry> VectorStores::entry(std::string_view owner, std::string_view store,
                                  std::string_view file) const {
  const std::lock_guard lock(impl_->shared.mutex);
  return impl_->find_entry(owner, store, file);
}

Result<Entry> VectorStores::set_attributes(std::string_view owner, std::string_view store,
                                           std::string_view file, Attributes attributes) {
  const std::lock_guard changing(impl_->shared.changing);
  SIGNALBOX_TRY(Entry changed, impl_->entry_to_change(owner, store, file));
  changed.attributes = std::move(attributes);
  SIGNALBOX_TRY_VOID(impl_->disk.write(changed));
  const std::lock_guard lock(impl_->shared.mutex);
  RegisteredEntry* const registered = impl_->shared.registry.entry(store, file);
  registered->entry.attributes = changed.attributes;
  return registered->entry;
}

Result<void> VectorStores::detach(std::string_view owner, std::string_view store,
                                  std::string_view file) {
  const std::lock_guard changing(impl_->shared.changing);
  SIGNALBOX_TRY(const Entry found, impl_->entry_to_change(owner, store, file));
  return impl_->remove_entry(found);
}

// --- all ---

Result<std::vector<Found>> VectorStores::search(std::string_view owner, const Search& search,
                                                const engine::Patience& patience) const {
  const int64_t now = seconds_now();
  std::string id;
  {
    const std::lock_guard lock(impl_->shared.mutex);
    const Registry& registry = impl_->shared.registry;
    const Store* const store = owner == kOperator ? registry.named_store(search.store, now)
                                                  : registry.store(owner, search.store);
    SIGNALBOX_TRY_VOID(impl_->use(store, search.store, now));
    id = store->id;
  }
  return impl_->indexer->search(id, search, patience);
}

void VectorStores::expire(int64_t now) {
  impl_->expire(now);
}

Result<VectorStores::Removed> VectorStores::remove_all(std::string_view owner) {
  Removed out;
  const auto is_gone = [](const Result<void>& removed) {
    return !removed && removed.error().code == Code::kNotFound;  // somebody else has removed it
  };
  for (const File& each : files(owner)) {
    const auto removed = remove_file(owner, each.id);
    if (is_gone(removed)) continue;
    SIGNALBOX_TRY_VOID(removed);
    ++out.files;
  }
  for (const StoreView& each : stores(owner)) {
    const auto removed = remove_store(owner, each.store.id);
    if (is_gone(removed)) continue;
    SIGNALBOX_TRY_VOID(removed);
    ++out.stores;
  }
  return out;
}

VectorStores::Size VectorStores::size() const {
  const std::lock_guard lock(impl_->shared.mutex);
  return impl_->shared.registry.size();
}

}  // namespace signalbox::vector_stores
