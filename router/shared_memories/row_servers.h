#pragma once
// The servers that hold rows.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "router/config/stores.h"
#include "router/shared_memories/rows.h"
#include "router/stores/milvus.h"

namespace signalbox::shared_memories {

struct RowLimits {
  std::chrono::milliseconds read{1000}, write{2000};  // for each exchange
};

struct MilvusRowOptions {
  stores::MilvusServer server = {};
  std::string collection = {};          // letters, digits and _
  uint32_t shards = 0, partitions = 0;  // of a new collection; 0: the server's default
  RowLimits limits = {};
};
/// Connects at the first call. Errors: kUnsupported in a program that was built without Milvus.
Result<std::unique_ptr<RowServer>> make_milvus_rows(MilvusRowOptions options);

/// The same; `collection` has no character that a path escapes.
std::unique_ptr<RowServer> make_qdrant_rows(const config::Qdrant& server, std::string collection,
                                            const RowLimits& limits);

// For tests with arbitrary replies.
/// The rows of a reply to a query.
Result<Rows> read_milvus_memories(const json::Value& reply, const RowQuery& query);
/// The rows of a page, and the id at which the next page begins.
struct QdrantPage {
  Rows rows = {};
  std::string next = {};  // JSON; "": this is the last one
};
Result<QdrantPage> read_qdrant_page(const json::Value& reply, const RowQuery& query);
/// The values of a vector of a described collection. Errors: kInvalid if it has another shape.
Result<size_t> read_milvus_dimension(const json::Value& reply);
Result<size_t> read_qdrant_dimension(const json::Value& reply);

}  // namespace signalbox::shared_memories
