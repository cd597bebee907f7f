#pragma once
// The registry of all files and stores, in memory, without a disk or threads. Not thread-safe.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "router/vector_index/index.h"
#include "router/vector_stores/vector_stores.h"
#include "router/word_search/text_words.h"

namespace signalbox::vector_stores {

/// Every record counts at least as much, so that many small ones are bounded, too.
inline constexpr uint64_t kRecordBytes = 4096;
/// The size of a chunk beside its text and its vector.
inline constexpr uint64_t kChunkBytes = 256;
/// Chunks of one entry. The number of a chunk and that of its entry make the id of its vector.
inline constexpr uint64_t kEntryChunksMax = uint64_t{1} << 20;

/// The chunks of an entry. A holder may read them after the entry is removed.
struct ChunkTexts {
  std::vector<std::string> texts;
  word_search::TextWords words;
};
using Chunks = std::shared_ptr<const ChunkTexts>;

/// An entry, and its chunks once they are embedded.
struct RegisteredEntry {
  Entry entry;
  Chunks chunks = nullptr;  // null: not embedded. Shared with searches in progress
  uint64_t round = 0;       // the round of embedding that made them
};

class Registry {
 public:
  Limits limits;

  const File* file(std::string_view owner, std::string_view id) const;
  const Store* store(std::string_view owner, std::string_view id) const;
  const Store* any_store(std::string_view id) const;
  /// Finds the operators' store with that id. Otherwise returns the oldest one with that name, and
  /// prefers those that have not expired.
  const Store* named_store(std::string_view name, int64_t now) const;
  RegisteredEntry* entry(std::string_view store, std::string_view file);
  RegisteredEntry* entry(uint64_t number);
  std::vector<const File*> files(std::string_view owner) const;
  std::vector<const Store*> stores(std::string_view owner) const;
  std::vector<const RegisteredEntry*> entries(std::string_view store) const;
  std::vector<const RegisteredEntry*> entries_of_file(std::string_view file) const;
  const std::map<uint64_t, RegisteredEntry>& all_entries() const { return entries_; }

  /// Errors: kTooLarge naming the bound.
  Result<void> admit_file(std::string_view owner, uint64_t bytes) const;
  Result<void> admit_store(std::string_view owner) const;
  Result<void> admit_bytes(std::string_view owner, uint64_t bytes) const;
  Result<void> admit_chunks(std::string_view store, uint64_t chunks) const;

  /// Reserve and release room for a file that is being written.
  void reserve(std::string_view owner, uint64_t bytes);
  void release(std::string_view owner, uint64_t bytes);

  void add(File file);
  void add(Store store);
  void add(Entry entry);
  void change(const Store& store);
  /// The store is in use. If it expires, take_touched() returns it once.
  void touch(const Store& store, int64_t now);
  std::vector<Store> take_touched();
  const std::map<std::string, Store, std::less<>>& all_stores() const { return stores_; }
  void remove_file(std::string_view id);
  void remove_store(std::string_view id);
  void remove_entry(uint64_t number);
  /// Sets or replaces the chunks; null removes them.
  void set_chunks(RegisteredEntry& registered, Chunks chunks, uint64_t bytes, uint64_t round);

  StoreFigures figures(std::string_view store) const;
  VectorStores::Size size() const;
  uint64_t next_number() { return next_number_++; }

 private:
  struct Usage {
    uint64_t bytes = 0;
    uint32_t files = 0, stores = 0;
  };
  Usage usage(std::string_view owner) const;
  void forget_if_empty(std::string_view owner);
  const std::string& owner_of_store(std::string_view store) const;

  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, Store, std::less<>> stores_;
  std::map<uint64_t, RegisteredEntry> entries_;  // by number
  // Numbers of entries by store and file
  std::map<std::string, std::map<std::string, uint64_t, std::less<>>, std::less<>> by_store_;
  std::map<std::string, Usage, std::less<>> usage_;
  std::set<std::string> touched_;  // ids of stores that expire, whose use is not on the disk yet
  uint64_t bytes_ = 0;
  uint64_t next_number_ = 1;
};

}  // namespace signalbox::vector_stores
