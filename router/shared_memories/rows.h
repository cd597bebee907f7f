#pragma once
// Memories as rows of a server that holds vectors (Milvus, Qdrant). Any program may have written
// the rows, so the reader refuses everything that no router writes.
//
// A row is a memory, or a deletion that is remembered for 60 days: of one memory, or of all
// memories of a user that began before a moment. Its id is "mem_", "del_" or "all_" and 32
// hexadecimal digits; those of the deletion of a memory are the memory's. A row of a memory has the
// texts and the vector. A row does not change, except that a use replaces the row of its memory.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/shared_memories/journal.h"
#include "router/shared_memories/record.h"

namespace signalbox::shared_memories {

enum class RowKind : uint8_t { kMemory, kDeletion, kDeletionOfAll };

struct Row {
  std::string id = {};
  RowKind kind = RowKind::kMemory;
  IndexEntry entry = {};   // of a deletion, its time as `created` and its moment
  int64_t expires_ms = 0;  // since 1970
  Record record = {};      // without texts and vector unless the whole row was read
};

/// Every part that is set must hold.
struct RowQuery {
  std::string owner = {};                 // "": any
  std::span<const std::string> ids = {};  // empty: any
  bool only_deletions = false;
  uint64_t moment_above = 0;     // 0: any
  int64_t expires_below_ms = 0;  // 0: any
  bool is_whole = false;         // with texts and vectors
  size_t most = 0;
};

/// The most rows of a query: as many as Milvus returns.
inline constexpr size_t kRowsMax = 16'384;
/// The most ids of a query or a deletion.
inline constexpr size_t kRowIdsMax = 512;
/// Bytes of a text in a row: as many as Milvus takes.
inline constexpr size_t kRowTextMax = 65'535;

/// The names of a row's members, in the order in which they are written. The last one is the
/// vector.
std::span<const std::string_view> row_fields();
/// A query reads this many of them: those of an entry of the index, or all but the vector.
inline constexpr size_t kEntryFields = 9, kTextFields = 13;

bool is_row_id(std::string_view id);
/// The id of the row that remembers the deletion of a memory. Precondition: is_memory_id(id).
std::string deletion_id(std::string_view memory_id);
/// A row for a deletion, with a vector of that many values.
Row deletion_row(const Deletion& deletion, size_t dimension, int64_t now_ms, int64_t expires_ms);
/// Reads the deletion from its row. Precondition: the row is one of a deletion.
Deletion deletion_of(const Row& row);

/// Errors: kTooLarge and kInvalid for texts that a row cannot hold.
Result<void> check_row(const Row& row);
/// Writes the members of a row without its vector.
void write_row(const Row& row, json::Writer& to);
/// Errors: kIo with the member that no router writes.
Result<Row> read_row(const json::Value& members, const std::optional<json::Value>& vector,
                     bool is_whole);

/// The rows of a reply, without unreadable memories, whose number is `illegible`. An unreadable
/// deletion is an error, because its memories would come back.
struct Rows {
  std::vector<Row> rows = {};
  size_t illegible = 0;

  /// If this is the limit of the query, the server may have more.
  size_t count() const { return rows.size() + illegible; }
  Result<void> add(const json::Value& members, const std::optional<json::Value>& vector,
                   const RowQuery& query);
};

/// A server with one collection of rows. Thread-safe; calls block within their time limits. Errors:
/// kNotFound (there is no collection), kInvalid (the login, or the collection has another shape),
/// kUnsupported (a row is at fault), kUpstream, kDeadline, kIo. They have no text of a user.
class RowServer {
 public:
  virtual ~RowServer() = default;

  /// For log lines: the kind and address of the server, without secrets.
  virtual const std::string& name() const = 0;
  /// The values of a vector of the collection, after a check of its shape; nullopt if there is no
  /// collection.
  virtual Result<std::optional<size_t>> dimension() = 0;
  virtual Result<void> create(size_t dimension) = 0;
  /// The rows as of all changes that were acknowledged before, in no order.
  virtual Result<Rows> query(const RowQuery& query) = 0;
  /// Adds rows or replaces those with the same id. Returns when the server has them.
  virtual Result<void> upsert(std::span<const Row> rows) = 0;
  /// At most kRowIdsMax. Returns when the server no longer has them.
  virtual Result<void> remove(std::span<const std::string> ids) = 0;
};

}  // namespace signalbox::shared_memories
