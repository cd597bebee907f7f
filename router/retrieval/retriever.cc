// Opens the retriever that a plugin describes. A hybrid retriever is two retrievers.

#include "router/retrieval/retriever.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/endpoint.h"
#include "router/retrieval/formats.h"
#include "router/retrieval/local_retriever.h"
#include "router/retrieval/mcp_source.h"
#include "router/retrieval/server_retriever.h"
#include "router/upstream/poster.h"

namespace signalbox::retrieval {
namespace {

using config::RagBackend;
using config::RagPlugin;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Documents = std::vector<std::string>;

constexpr milliseconds kMcpLimitByDefault{10'000};
constexpr size_t kFreeingThreads = 16;
constexpr uint32_t kTopKByDefault = 5;
constexpr uint32_t kOpenAiResultsByDefault = 20;
constexpr double kSimilarityByDefault = 0.7;
constexpr seconds kKeepByDefault{3600};
constexpr std::string_view kOpenAi = "https://api.openai.com/v1";

/// A search is one POST.
class HttpSource final : public Source {
 public:
  HttpSource(Server server, Search search)
      : search_(std::move(search)),
        target_(std::move(server.target)),
        reply_bytes_max_(server.reply_bytes_max),
        posters_(std::move(server.to), server.limit, std::move(server.key)) {}

  bool needs_vector() const override { return retrieval::needs_vector(search_.format); }

  Result<Documents> find(const Query& query, milliseconds limit,
                         const std::stop_token& stop) const override {
    SIGNALBOX_TRY(upstream::PostReply reply,
                  posters_.post(target_, "application/json", write_search(search_, query), limit,
                                reply_bytes_max_, stop));
    SIGNALBOX_TRY_VOID(check_status(reply.status));
    return read_documents(search_, std::move(reply.body));
  }

 private:
  const Search search_;
  const std::string target_;
  const size_t reply_bytes_max_;
  mutable upstream::PosterPool posters_;
};

/// The second server is searched if the first one finds nothing.
class HybridRetriever final : public Retriever {
 public:
  HybridRetriever(std::unique_ptr<const Retriever> first, std::unique_ptr<const Retriever> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  bool needs_vector() const override { return first_->needs_vector() || second_->needs_vector(); }

  Result<Documents> find(const Query& query, const engine::Patience& patience) const override {
    auto found = first_->find(query, patience);
    if (found || found.error().code == Code::kCancelled) return found;
    auto other = second_->find(query, patience);
    // The first server may have documents if its search failed.
    const bool is_nothing = !other && other.error().code == Code::kNotFound;
    return is_nothing ? std::move(found) : std::move(other);
  }

 private:
  const std::unique_ptr<const Retriever> first_, second_;
};

Result<Server> server_at(std::string_view what, std::string_view url) {
  const size_t question = std::min(url.find('?'), url.size());
  SIGNALBOX_TRY(const config::Endpoint at, config::parse_base_url(url.substr(0, question)));
  Server out;
  out.to.name = fmt::format("{} {}", what, config::written(at.host, at.port));
  out.to.host = at.host;
  out.to.port = at.port;
  out.to.tls = at.tls;
  // The path as the file has it: some servers redirect a path without its last slash.
  const size_t path = std::min(url.find('/', url.find("://") + 3), question);
  out.target = path == question ? "/" : url.substr(path, question - path);
  out.target += url.substr(question);
  return out;
}

Format format_of(std::string_view name) {
  if (name == "elasticsearch") return Format::kElasticsearch;
  if (name == "pinecone") return Format::kPinecone;
  if (name == "weaviate") return Format::kWeaviate;
  return Format::kCustom;
}

std::optional<std::string> key_of(const std::string& configured) {
  return configured.empty() ? std::nullopt : std::optional(configured);
}

void add_headers(const RagBackend& backend, Server& out) {
  out.key = key_of(backend.api_key);
  if (!backend.auth_header.empty() && !ascii::iequals(backend.auth_header, out.to.auth_header)) {
    out.to.auth_header = backend.auth_header;
    out.to.auth_prefix.clear();
  }
  out.to.extra_headers = backend.headers;
}

Result<Server> open_external(const RagBackend& backend, Search& search) {
  SIGNALBOX_TRY(Server out, server_at("document server", backend.endpoint));
  search.format = format_of(backend.request_format);
  search.request_template = backend.request_template;
  if (search.format == Format::kCustom && !json::Document::parse(write_search(search, {"a text"})))
    return fail(Code::kInvalid,
                "request_template: expected JSON once its places are filled in; ${{user_content}} "
                "belongs between quotes");
  add_headers(backend, out);
  return out;
}

Result<Server> open_openai(const RagBackend& backend, const RagPlugin& plugin, Search& search) {
  std::string base = backend.base_url.empty() ? std::string(kOpenAi) : backend.base_url;
  while (base.ends_with('/')) base.pop_back();
  if (!base.ends_with("/v1")) base += "/v1";
  SIGNALBOX_TRY(Server out, server_at("vector store", base));
  out.target += fmt::format("/vector_stores/{}/search", backend.vector_store_id);
  out.key = key_of(backend.api_key);
  search.format = Format::kOpenAi;
  search.filter = backend.filter;
  search.file_ids = backend.file_ids;
  if (backend.max_num_results > 0)
    search.top_k = backend.max_num_results;
  else if (plugin.top_k == 0)
    search.top_k = kOpenAiResultsByDefault;
  return out;
}

Result<Server> open_milvus(const config::Config& config, const RagBackend& backend,
                           Search& search) {
  const config::Milvus& milvus = config.response_cache.milvus.connection.host.empty()
                                     ? config.vector_store.milvus
                                     : config.response_cache.milvus;
  const config::Milvus::Connection& at = milvus.connection;
  if (at.host.empty()) {
    return fail(Code::kNotFound,
                "there is no Milvus server: set global.stores.response_cache.milvus.connection or "
                "global.stores.vector_store.milvus.connection");
  }
  Server out;
  out.to.name = fmt::format("milvus {}", config::written(at.host, at.port));
  out.to.host = at.host;
  out.to.port = at.port;
  out.to.tls = at.tls.enabled;
  out.to.tls_ca_path = at.tls.ca_file;
  out.target = "/v2/vectordb/entities/search";
  if (at.auth.enabled) out.key = fmt::format("{}:{}", at.auth.username, at.auth.password);
  search.format = Format::kMilvus;
  search.database = at.database;
  search.collection = backend.collection;
  search.content_field = backend.content_field.empty() ? "content" : backend.content_field;
  search.filter = backend.filter_expression;
  if (!search.similarity_min) search.similarity_min = kSimilarityByDefault;
  return out;
}

Result<Server> open_qdrant(const config::Config& config, const RagBackend& backend,
                           Search& search) {
  const config::Qdrant& at = config.response_cache.qdrant.host.empty()
                                 ? config.vector_store.qdrant
                                 : config.response_cache.qdrant;
  if (at.host.empty()) {
    return fail(Code::kNotFound,
                "there is no Qdrant server: set global.stores.response_cache.qdrant or "
                "global.stores.vector_store.qdrant");
  }
  Server out;
  out.to.host = at.host;
  out.to.port = config::http_port(at);
  out.to.name = fmt::format("qdrant {}", config::written(at.host, out.to.port));
  out.to.tls = at.use_tls;
  out.to.auth_header = "api-key";
  out.to.auth_prefix.clear();
  out.key = key_of(at.api_key);
  out.target = fmt::format("/collections/{}/points/query", backend.collection);
  search.format = Format::kQdrant;
  search.content_field = backend.content_field.empty() ? "content" : backend.content_field;
  search.filter = backend.filter;
  if (!search.similarity_min) search.similarity_min = kSimilarityByDefault;
  return out;
}

// The quotes around a number go, because a tool's schema distinguishes 5 and "5".
std::string arguments_of(const RagBackend& backend) {
  std::string out = backend.tool_arguments.empty() ? "{}" : backend.tool_arguments;
  for (const std::string_view place : {"${top_k}", "${threshold}"}) {
    const std::string quoted = fmt::format("\"{}\"", place);
    for (size_t at = 0; (at = out.find(quoted, at)) != std::string::npos; at += place.size())
      out.replace(at, quoted.size(), place);
  }
  return out;
}

Result<Server> open_mcp(const RagBackend& backend, std::string_view decision, Search& search) {
  SIGNALBOX_TRY(Server out,
                server_at(fmt::format("MCP server {}", backend.server_name), backend.endpoint));
  search.request_template = arguments_of(backend);
  search.decision = decision;
  const auto arguments = json::Document::parse(write_search(search, {"a text"}));
  if (!arguments || !arguments->root().is_object())
    return fail(Code::kInvalid, "tool_arguments: expected an object once its places are filled in");
  add_headers(backend, out);
  out.limit = kMcpLimitByDefault;
  return out;
}

/// The values that all retrievers of a plugin are opened with.
struct Opening {
  const config::Config& config;
  const RagPlugin& plugin;
  std::string_view decision;
  const vector_stores::VectorStores* stores;
};

Result<Server> open_server(const Opening& opening, std::string_view kind, const RagBackend& backend,
                           Search& search) {
  if (kind == "milvus") return open_milvus(opening.config, backend, search);
  if (kind == "qdrant") return open_qdrant(opening.config, backend, search);
  if (kind == "openai") return open_openai(backend, opening.plugin, search);
  if (kind == "mcp") return open_mcp(backend, opening.decision, search);
  return open_external(backend, search);
}

Result<std::unique_ptr<const Retriever>> open_backend(const Opening& opening, std::string_view kind,
                                                      const RagBackend& backend) {
  const RagPlugin& plugin = opening.plugin;
  if (kind == "vectorstore") return make_local_retriever(plugin, backend, opening.stores);
  Search search;
  search.top_k = plugin.top_k > 0 ? plugin.top_k : kTopKByDefault;
  if (plugin.similarity_threshold > 0) search.similarity_min = plugin.similarity_threshold;
  SIGNALBOX_TRY(Server server, open_server(opening, kind, backend, search));
  if (backend.timeout_seconds > 0) server.limit = seconds(backend.timeout_seconds);
  if (backend.max_response_bytes > 0)
    server.reply_bytes_max = std::min<uint64_t>(backend.max_response_bytes, kReplyBytesMax);
  Bounds bounds{.name = server.to.name,
                .server = config::written(server.to.host, server.to.port),
                .at_once = config::evaluating_threads(opening.config.http) / 2,
                .limit = server.limit};
  if (plugin.cache_results)
    bounds.lifetime =
        plugin.cache_ttl_seconds > 0 ? seconds(plugin.cache_ttl_seconds) : kKeepByDefault;
  std::unique_ptr<const Source> source;
  if (kind == "mcp")
    source = make_mcp_source(std::move(server), backend.tool_name, std::move(search));
  else
    source = std::make_unique<const HttpSource>(std::move(server), std::move(search));
  return make_server_retriever(std::move(source), std::move(bounds));
}

}  // namespace

Result<std::unique_ptr<const Retriever>> open_retriever(const config::Config& config,
                                                        const RagPlugin& plugin,
                                                        std::string_view decision,
                                                        const vector_stores::VectorStores* stores) {
  const Opening opening{config, plugin, decision, stores};
  const RagBackend& backend = plugin.backend_config;
  if (plugin.backend != "hybrid") return open_backend(opening, plugin.backend, backend);
  const auto part = [&](std::string_view kind, const std::vector<RagBackend>& keys) {
    RagBackend own = keys.empty() ? RagBackend() : keys.front();
    if (own.timeout_seconds == 0) own.timeout_seconds = backend.timeout_seconds;
    return open_backend(opening, kind, own);
  };
  SIGNALBOX_TRY(auto first, part(backend.primary, backend.primary_config));
  if (backend.fallback.empty()) return first;
  SIGNALBOX_TRY(auto second, part(backend.fallback, backend.fallback_config));
  return std::make_unique<const HybridRetriever>(std::move(first), std::move(second));
}

Retrievers::~Retrievers() {
  std::vector<std::unique_ptr<const Retriever>> all;
  for (auto& [decision, retriever] : all_) all.push_back(std::move(retriever));
  std::atomic<size_t> next{0};
  const auto free_rest = [&] {
    for (size_t i = next++; i < all.size(); i = next++) all[i].reset();
  };
  std::vector<std::jthread> threads;
  try {
    while (threads.size() + 1 < std::min(all.size(), kFreeingThreads))
      threads.emplace_back(free_rest);
  } catch (const std::system_error&) {  // there are no more threads; those at hand free the rest
  }
  free_rest();
}

}  // namespace signalbox::retrieval
