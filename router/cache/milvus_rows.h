#pragma once
// Splits an answer into rows of a Milvus collection, and defines the collection's schema. A text
// field holds at most 65,535 bytes, so an answer takes as many rows as it needs. The first row is
// named by the answer's id and gives the number of rows; the others are named by the id, the time
// of writing and their number. Milvus requires a vector in every row. All rows have the same one,
// since the routers search for similar questions themselves.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::cache {

inline constexpr size_t kMilvusPieceMax = 48'000;  // bytes of an answer in each row
inline constexpr int64_t kMilvusPiecesMax = 64;

/// The first row of an answer.
struct MilvusRow {
  std::string id;
  int64_t written = 0;  // microseconds since 1970 on the writer's clock
  int64_t logged = 0;   // the same; 0: its head is too long, so it is not in the log
  int64_t expires = 0;  // milliseconds since 1970
  int64_t pieces = 0;   // number of rows; 0: the answer has been deleted
  std::string head = {};
  std::string bytes = {};  // of the first row
};

/// True if an id may occur in a filter: letters, digits and '-', at most 128.
bool is_milvus_id(std::string_view id);
/// The id of row `piece` of an answer, from 1 on.
std::string milvus_piece(std::string_view id, int64_t written, int64_t piece);

/// The "data" of an upsert with the whole answer. Returns nullopt if it takes more than
/// kMilvusPiecesMax rows.
std::optional<std::string> milvus_rows(const MilvusRow& first, std::string_view bytes);
/// Reads the rows that a query returned, with any subset of the fields. Errors: kIo.
Result<std::vector<MilvusRow>> read_milvus_rows(const json::Value& reply);

/// The members "schema" and "indexParams" for creating a collection.
std::string milvus_schema();
/// Checks that a described collection has our schema; kInvalid names the first mismatch.
Result<void> check_milvus_schema(const json::Value& reply);
/// True if a described collection is loaded and can be searched.
bool is_milvus_loaded(const json::Value& reply);

}  // namespace signalbox::cache
