#pragma once
// Files, stores and their entries, and the form in which they lie in a folder.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/vector_stores/document_text.h"

namespace signalbox::vector_stores {

/// A property of a file in a store, which searches may filter by.
using Attribute = std::variant<bool, double, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;
using Metadata = std::map<std::string, std::string, std::less<>>;

/// Bounds of both, as in OpenAI's API.
inline constexpr size_t kPairsMax = 16, kPairKeyBytesMax = 64, kPairValueBytesMax = 512;
inline constexpr size_t kNameBytesMax = 256;
inline constexpr uint32_t kExpiresDaysMax = 365;

/// Numbers of records are at most this, so that the ids of vectors can be made of them.
inline constexpr uint64_t kNumberMax = uint64_t{1} << 40;
/// No file is larger, whatever the configuration allows.
inline constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;

/// A file that a client has uploaded. `number` grows from one to the next, also between the kinds.
struct File {
  std::string id, owner, name, purpose;
  uint64_t bytes = 0;
  int64_t created = 0;  // seconds since 1970
  uint64_t number = 0;
};

struct Store {
  std::string id, owner, name;
  Metadata metadata = {};
  int64_t created = 0;
  uint64_t number = 0;
  uint32_t expires_days = 0;  // after its last use; 0: never
  int64_t last_active = 0;    // seconds since 1970
  bool is_emptied = false;    // it has expired, and its files were taken out
};
/// The second in which the store expires; 0: never.
int64_t expiry_of(const Store& store);
/// Its files may still be in it, until a sweep takes them out.
bool is_expired(const Store& store, int64_t now);

enum class Status : uint8_t { kInProgress, kCompleted, kFailed, kCancelled };
/// "in_progress", "completed", "failed", "cancelled".
std::string_view name_of(Status status);

/// The number of entries with each status.
struct StatusCounts {
  size_t in_progress = 0, completed = 0, failed = 0, cancelled = 0;
  void add(Status status);
  size_t total() const { return in_progress + completed + failed + cancelled; }
};

/// A file in a store.
struct Entry {
  std::string id;  // of this record alone
  std::string store, file;
  Chunking chunking = {};
  Attributes attributes = {};
  int64_t created = 0;
  uint64_t number = 0;
  Status status = Status::kInProgress;
  std::string error = {};  // why it failed
  uint64_t bytes = 0;      // of its chunks and vectors
  std::string batch = {};  // the id of the batch that brought it; "": none
};

/// The chunks of an entry with their vectors, which one model has made.
struct Embedded {
  std::string model;
  int32_t dim = 0;
  std::vector<std::string> chunks = {};
  std::vector<float> vectors = {};  // (chunks, dim)
};

void write_attributes(json::Writer& out, const Attributes& attributes);
/// Errors: kInvalid naming the member.
Result<Attributes> read_attributes(std::string_view where, const json::Value& value);
Result<Metadata> read_metadata(std::string_view where, const json::Value& value);

/// The form on disk. A file's record is the line in front of its content.
std::string write_record(const File& file);
std::string write_record(const Store& store);
std::string write_record(const Entry& entry);
std::string write_record(const Embedded& embedded);

/// Errors: kCorrupt.
Result<File> read_file_record(std::string_view line);
Result<Store> read_store_record(std::string_view text);
Result<Entry> read_entry_record(std::string_view text);
Result<Embedded> read_embedded(std::string_view bytes);

}  // namespace signalbox::vector_stores
