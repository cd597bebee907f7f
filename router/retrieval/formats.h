#pragma once
// The search requests and replies of the servers that hold documents. Each format follows the
// documentation of its server; none was compared with a real one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/plugins.h"
#include "router/retrieval/retriever.h"

namespace signalbox::retrieval {

/// Larger replies are refused.
inline constexpr size_t kReplyBytesMax = size_t{8} << 20;

enum class Format : uint8_t {
  kCustom,         // any server: a template of the file
  kElasticsearch,  // _search of Elasticsearch and OpenSearch
  kPinecone,       // /query
  kWeaviate,       // /v1/graphql, class Document
  kOpenAi,         // /v1/vector_stores/ID/search
  kMilvus,         // /v2/vectordb/entities/search
  kQdrant,         // /collections/NAME/points/query
};

/// A search, as the file describes it.
struct Search {
  Format format = Format::kCustom;
  uint32_t top_k = 5;
  std::optional<double> similarity_min;  // nullopt: every document that the server returns
  std::string request_template;          // kCustom
  std::string decision;                  // its name, for an MCP server's tool; "": no place for it
  std::string filter;                    // kOpenAi, kQdrant: JSON; kMilvus: an expression
  std::vector<std::string> file_ids;     // kOpenAi; empty: all files
  std::string database, collection;      // kMilvus
  std::string content_field;             // kMilvus, kQdrant
};

/// Returns true if the server compares vectors, and not texts.
bool needs_vector(Format format);

/// Returns the body of a request. In a template, `${user_content}` and `{{.Query}}` stand for the
/// text as the inside of a JSON string, and `${decision_name}` for `decision`, if there is one;
/// `${top_k}`, `{{.TopK}}`, `${threshold}` and `{{.Threshold}}` for numbers.
std::string write_search(const Search& search, const Query& query);

/// Reads the texts of a reply, the most similar one first, without repetitions and empty texts, at
/// most `top_k`. Errors: kUpstream, for a reply of another form. It contains nothing of the reply.
Result<std::vector<std::string>> read_documents(const Search& search, std::string body);

}  // namespace signalbox::retrieval
