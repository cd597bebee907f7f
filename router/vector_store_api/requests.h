#pragma once
// The bodies of requests for files and vector stores, in OpenAI's form.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/vector_stores/filter.h"
#include "router/vector_stores/vector_stores.h"
#include "router/word_search/hybrid.h"

namespace signalbox::vector_store_api {

/// An upload. The content is a view of the body.
struct Upload {
  std::string name, purpose;
  std::string_view content;
};
/// True for files that vector stores hold, such as `assistants`.
bool is_document_purpose(std::string_view purpose);
/// Reads a form. nullopt if its purpose is not that of a document. Errors: kInvalid, kTooLarge.
Result<std::optional<Upload>> read_upload(std::string_view body, std::string_view content_type);

/// A new store, or the changes of one.
struct StoreBody {
  std::optional<std::string> name;
  std::optional<vector_stores::Metadata> metadata;
  std::vector<std::string> files;
  vector_stores::Chunking chunking;
  std::optional<uint32_t> expires_days;  // 0: never
};
Result<StoreBody> read_store(std::string_view body);

Result<vector_stores::Addition> read_entry(std::string_view body);
/// The files of a batch, in which no file occurs twice.
Result<std::vector<vector_stores::Addition>> read_batch(std::string_view body);
Result<vector_stores::Attributes> read_entry_change(std::string_view body);

struct SearchBody {
  std::vector<std::string> queries;
  std::optional<vector_stores::Filter> filter;
  size_t most = 10;
  double similarity_min = -1;
  /// From `ranking_options.hybrid_search` in OpenAI's form, or `hybrid` in the Semantic Router's.
  std::optional<word_search::Hybrid> hybrid;
};
Result<SearchBody> read_search(std::string_view body);

}  // namespace signalbox::vector_store_api
