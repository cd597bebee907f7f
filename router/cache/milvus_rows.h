#pragma once
// An answer as rows of a Milvus collection, and the collection's schema. A field of text holds at
// most 65,535 bytes, so an answer takes as many rows as it needs: the first is named by its id and
// tells the rest, which are named by the id, the time of the writing and their number. Milvus wants
// a vector in every row: it is the same in all, since what lies near is found by the routers.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::cache {

inline constexpr size_t kMilvusPieceMax = 48'000;  // bytes of an answer in a row
inline constexpr int64_t kMilvusPiecesMax = 64;

/// The first row of an answer.
struct MilvusRow {
  std::string id;
  int64_t written = 0;  // microseconds since 1970 on the writer's clock
  int64_t told = 0;     // the same; 0: its head has no room, and nobody is told
  int64_t expires = 0;  // milliseconds since 1970
  int64_t pieces = 0;   // rows; 0: the answer has been deleted
  std::string head = {};
  std::string bytes = {};  // of the first row
};

/// Whether an id may stand in a filter: letters, digits and '-', at most 128.
bool is_milvus_id(std::string_view id);
/// The name of piece 1 and so on of an answer.
std::string milvus_piece(std::string_view id, int64_t written, int64_t piece);

/// "data" of an upsert: the answer whole. None where it takes more than kMilvusPiecesMax rows.
std::optional<std::string> milvus_rows(const MilvusRow& first, std::string_view bytes);
/// Of the rows that a query has returned, whatever fields it asked for. Errors: kIo.
Result<std::vector<MilvusRow>> read_milvus_rows(const json::Value& reply);

/// "schema" and "indexParams" of a new collection, as members of an object.
std::string milvus_schema();
/// Whether a collection that was described is one of ours; kInvalid says what is not as it has to
/// be.
Result<void> check_milvus_schema(const json::Value& reply);
/// Whether one that was described can be searched.
bool is_milvus_loaded(const json::Value& reply);

}  // namespace signalbox::cache
