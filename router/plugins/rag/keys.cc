// The keys of the plugin rag: those of all backends in one section, and the checks of each backend.

#include <algorithm>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/plugins/plugin_keys.h"

namespace signalbox::config {

extern const Section kRagBackend;  // a hybrid backend contains others

namespace {

/// The part of one backend that is not built; "" if there is none. is_part: of hybrid.
std::string unbuilt_part(std::string_view kind, const RagBackend& backend, bool is_part) {
  if (kind == "openai" && backend.workflow_mode == "tool_based") {
    if (is_part) return "rag with workflow_mode tool_based as a part of hybrid";
    if (!backend.file_ids.empty()) return "rag with file_ids and workflow_mode tool_based";
  }
  if (kind != "mcp") return "";
  if (backend.endpoint.empty()) return "rag with the backend mcp, without the key endpoint,";
  for (const std::string_view place : {"${matched_domains}", "${matched_keywords}"}) {
    if (backend.tool_arguments.find(place) != std::string::npos)
      return fmt::format("rag with {} in tool_arguments", place);
  }
  return "";
}

bool compares_vectors(std::string_view kind, const RagBackend& backend) {
  return kind == "milvus" || kind == "qdrant" || kind == "vectorstore" ||
         (kind == "external_api" &&
          (backend.request_format == "pinecone" || backend.request_format == "weaviate"));
}

/// Calls `with` with the kind and the keys of each backend that is searched.
template <class With>
bool all_backends(const RagPlugin& plugin, const With& with) {
  const RagBackend& backend = plugin.backend_config;
  if (plugin.backend != "hybrid") return with(plugin.backend, backend);
  const RagBackend none;
  const auto of = [&](const std::vector<RagBackend>& keys) -> const RagBackend& {
    return keys.empty() ? none : keys.front();
  };
  return with(backend.primary, of(backend.primary_config)) &&
         (backend.fallback.empty() || with(backend.fallback, of(backend.fallback_config)));
}

/// The keys that a backend reads.
std::string_view keys_of(std::string_view kind) {
  if (kind == "milvus")
    return "collection reuse_cache_connection content_field metadata_field filter_expression "
           "timeout_seconds";
  if (kind == "qdrant")
    return "collection reuse_cache_connection content_field filter timeout_seconds";
  if (kind == "external_api")
    return "endpoint api_key auth_header request_format request_template headers timeout_seconds "
           "max_response_bytes";
  if (kind == "mcp")
    return "endpoint api_key auth_header headers server_name tool_name tool_arguments "
           "timeout_seconds";
  if (kind == "openai")
    return "base_url api_key vector_store_id file_ids filter max_num_results workflow_mode "
           "timeout_seconds max_response_bytes";
  if (kind == "vectorstore") return "vector_store_id file_ids hybrid_search hybrid_mode";
  return "primary fallback strategy primary_config fallback_config timeout_seconds";  // hybrid
}

/// Gives a notice for each key of the mapping `node` that a backend of this kind does not read.
void note_idle_keys(Reader& reader, const yaml::Node* node, std::string_view kind) {
  if (node == nullptr || node->kind != yaml::Kind::kMapping || kind.empty()) return;
  const std::vector<std::string_view> used = split_words(keys_of(kind));
  for (const auto& entry : kRagBackend.keys) {
    const yaml::Node* found = node->find(entry.name);
    if (found == nullptr || std::find(used.begin(), used.end(), entry.name) != used.end()) continue;
    reader.at_key(std::string(entry.name), [&] {
      reader.does_without(found->line,
                          fmt::format("has no effect: the backend {} does not read it", kind));
    });
  }
}

constexpr std::string_view kSearchesElsewhere =
    "has no effect: with workflow_mode tool_based, the server of the decision's model searches";

/// The checks of one backend. `node` is its mapping; null: there is none. Keys with a value that is
/// reported already are not reported as missing.
class RagCheck {
 public:
  RagCheck(Reader& reader, uint32_t line, const yaml::Node* node, std::string_view kind)
      : reader_(reader),
        line_(node == nullptr ? line : node->line),
        node_(node != nullptr && node->kind == yaml::Kind::kMapping ? node : nullptr),
        is_missing_(node == nullptr),
        kind_(kind) {}

  void run(const RagBackend& backend) {
    if (node_ == nullptr && !is_missing_) return;
    note_idle_keys(reader_, node_, kind_);
    if (kind_ == "milvus" || kind_ == "qdrant") need("collection");
    if (kind_ == "qdrant") {
      check_name("collection", backend.collection);
      check_filter(backend.filter);
    }
    if (kind_ == "vectorstore") need("vector_store_id");
    if (kind_ == "openai") {
      need("vector_store_id");
      check_name("vector_store_id", backend.vector_store_id);
      check_url("base_url", backend.base_url, false);
      check_key(backend.api_key);
      if (backend.workflow_mode == "tool_based") note_idle({"base_url", "api_key"});
    }
    if (kind_ == "mcp" && !backend.endpoint.empty()) {
      need("server_name");
      need("tool_name");
      // It is a part of messages and of the request ID.
      if (!is_header_value(backend.server_name))
        report("server_name", "expected one line without control characters");
      check_server(backend);
      check_headers(backend);
    }
    if (kind_ != "external_api") return;
    need("endpoint");
    check_server(backend);
    need("request_format");
    if (backend.request_format == "custom") need("request_template");
    check_headers(backend);
  }

 private:
  void check_server(const RagBackend& backend) {
    check_url("endpoint", backend.endpoint, true);
    check_key(backend.api_key);
  }
  void check_headers(const RagBackend& backend) {
    if (!backend.auth_header.empty()) check_header("auth_header", backend.auth_header, "");
    for (const auto& [name, value] : backend.headers) check_header("headers", name, value);
  }
  const yaml::Node* at(std::string_view key) const {
    return node_ == nullptr ? nullptr : node_->find(key);
  }
  void need(std::string_view key) {
    const yaml::Node* value = at(key);
    if (value == nullptr || (value->kind == yaml::Kind::kScalar && value->scalar.empty()))
      reader_.error(line_, fmt::format("the backend {} needs the key {}", kind_, key));
  }
  void report(std::string_view key, std::string message) {
    reader_.at_key(std::string(key), [&] { reader_.error(at(key)->line, std::move(message)); });
  }
  void check_url(std::string_view key, const std::string& url, bool may_query) {
    if (url.empty()) return;
    const size_t question = may_query ? std::min(url.find('?'), url.size()) : url.size();
    const Result<Endpoint> parsed = parse_base_url(url.substr(0, question));
    if (!parsed) return report(key, parsed.error().message);
    const bool is_plain = std::all_of(url.begin() + static_cast<ptrdiff_t>(question), url.end(),
                                      [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
    if (!is_plain)
      report(key, "expected a query of ASCII characters, without spaces and fragments");
  }
  // The name becomes a part of a path.
  void check_name(std::string_view key, std::string_view name) {
    const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
      return ascii::is_alpha(c) || ascii::is_digit(c) || c == '_' || c == '-' || c == '.';
    });
    const bool is_folder = name == "." || name == "..";
    if (!is_name || is_folder) {
      report(key,
             fmt::format("expected letters, digits, \"_\", \"-\" and \".\", found \"{}\"", name));
    }
  }
  void note_idle(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (at(key) == nullptr) continue;
      reader_.at_key(key, [&] { reader_.does_without(at(key)->line, kSearchesElsewhere); });
    }
  }
  void check_filter(std::string_view filter) {
    if (!filter.empty() && filter.front() != '{') report("filter", "expected a mapping");
  }
  void check_key(std::string_view key) {
    if (!is_header_value(key)) report("api_key", "the key is not one line");
  }
  void check_header(std::string_view key, std::string_view name, std::string_view value) {
    if (!is_header_name(name) || is_own_header(name))
      report(key, fmt::format("expected the name of a header, found \"{}\"", name));
    if (!is_header_value(value))
      report(key, fmt::format("the value of the header \"{}\" is not one line", name));
  }

  Reader& reader_;
  const uint32_t line_;
  const yaml::Node* const node_;
  const bool is_missing_;
  const std::string_view kind_;
};

void check_rag(Reader& reader, const yaml::Node& node, RagPlugin& plugin) {
  if (!plugin.enabled) return;
  if (node.find("backend") == nullptr) return reader.error(node.line, "rag needs the key backend");
  const yaml::Node* at = node.find("backend_config");
  if (plugin.backend == "vectorstore" && plugin.cache_results) {
    reader.at_key("cache_results", [&] {
      reader.does_without(node.find("cache_results")->line,
                          "has no effect: the router's own search is not cached");
    });
  }
  const RagBackend& backend = plugin.backend_config;
  if (plugin.rerank && plugin.backend == "openai" && backend.workflow_mode == "tool_based") {
    reader.at_key("rerank",
                  [&] { reader.does_without(node.find("rerank")->line, kSearchesElsewhere); });
    plugin.rerank.reset();
  }
  reader.at_key("backend_config", [&] {
    if (plugin.backend != "hybrid")
      return RagCheck(reader, node.line, at, plugin.backend).run(backend);
    note_idle_keys(reader, at, plugin.backend);
    if (at == nullptr || at->find("primary") == nullptr)
      return reader.error(node.line, "the backend hybrid needs the key primary");
    const auto check = [&](std::string key, const std::string& kind, const auto& keys) {
      const yaml::Node* part = at->find(key);
      reader.at_key(key, [&] {
        RagCheck(reader, at->line, part, kind).run(keys.empty() ? RagBackend() : keys.front());
      });
    };
    check("primary_config", backend.primary, backend.primary_config);
    check("fallback_config", backend.fallback, backend.fallback_config);
  });
}

constexpr std::string_view kRagBackends = "milvus qdrant external_api mcp openai vectorstore";

// `${user_content}` in it is not an environment variable.
void read_template(Reader& reader, const yaml::Node& node, std::string& out) {
  if (node.kind != yaml::Kind::kScalar) return reader.expected(node, "a text");
  out = node.scalar;
}

constexpr Key kRagBackendKeys[] = {
    string(FIELD(RagBackend, collection), "milvus, qdrant: collection of the documents."),
    boolean(FIELD(RagBackend, reuse_cache_connection),
            "milvus, qdrant: use the response cache's server.")
        .no_effect("the response cache's server is used if there is one")
        .unless("true yes on"),
    string(FIELD(RagBackend, content_field),
           "milvus, qdrant: field of the text. Default: content."),
    string(FIELD(RagBackend, metadata_field), "milvus: field of the metadata.")
        .no_effect("the model gets the text alone"),
    string(FIELD(RagBackend, filter_expression), "milvus: filter of the documents."),
    string(FIELD(RagBackend, endpoint),
           "external_api, mcp: URL. Everyone who may read the configuration sees its query. "
           "Signalbox only for mcp, as are api_key, auth_header and headers."),
    string(FIELD(RagBackend, api_key), "external_api, openai, mcp: API key."),
    string(FIELD(RagBackend, auth_header),
           "external_api, mcp: header of the key, which then has no prefix. Default: "
           "Authorization, with Bearer."),
    word(FIELD(RagBackend, request_format), "custom elasticsearch pinecone weaviate",
         "external_api: form of requests and replies."),
    string(FIELD(RagBackend, request_template),
           "external_api: body of a `custom` request; `${user_content}`, `${top_k}` and "
           "`${threshold}` are replaced.")
        .read_by<read_template>(),
    text_map(FIELD(RagBackend, headers), "external_api, mcp: headers to send."),
    string(FIELD(RagBackend, server_name), "mcp: name of the server, for messages."),
    string(FIELD(RagBackend, tool_name), "mcp: name of the tool."),
    anything(FIELD(RagBackend, tool_arguments),
             "mcp: arguments; `${user_content}`, `${decision_name}`, `${top_k}` and `${threshold}` "
             "are replaced. A text that is only one of the latter two becomes a number."),
    string(FIELD(RagBackend, base_url), "openai: URL of the server."),
    string(
        FIELD(RagBackend, vector_store_id),
        "openai, vectorstore: the store. vectorstore: its id, or the name of an operators' store."),
    texts(FIELD(RagBackend, file_ids), "openai, vectorstore: the only files to search."),
    anything(FIELD(RagBackend, filter), "openai, qdrant: filter of the documents."),
    count(FIELD(RagBackend, max_num_results),
          "openai: documents to add. Default: `top_k`, or else 20."),
    word(FIELD(RagBackend, workflow_mode), "direct_search tool_based",
         "openai: the router searches (default), or the model does."),
    boolean(FIELD(RagBackend, hybrid_search), "vectorstore: search by words, too. Signalbox only."),
    word(FIELD(RagBackend, hybrid_mode), "weighted rrf",
         "vectorstore: how both searches are joined. Default: rrf. Signalbox only."),
    word(FIELD(RagBackend, primary), kRagBackends, "hybrid: the first backend."),
    word(FIELD(RagBackend, fallback), kRagBackends, "hybrid: the second backend."),
    word(FIELD(RagBackend, strategy), "sequential parallel",
         "hybrid: search the second backend if the first finds nothing (default), or at once.")
        .no_effect("the second backend is searched if the first one finds nothing")
        .unless("sequential"),
    object(FIELD(RagBackend, primary_config), kRagBackend, "hybrid: keys of the first backend."),
    object(FIELD(RagBackend, fallback_config), kRagBackend, "hybrid: keys of the second backend."),
    count(FIELD(RagBackend, timeout_seconds),
          "Time limit of the search, in seconds. Default: 5; 10 for mcp."),
    integer(FIELD(RagBackend, max_response_bytes), 0, int64_t{1} << 40,
            "external_api, openai: greatest size of a reply, in bytes. Longer ones fail. Default, "
            "and greatest value with an effect: 8388608."),
};

constexpr Key kRagRerankKeys[] = {
    count(FIELD(RagPlugin::Rerank, top_k), "The most relevant documents to keep. Default: all."),
};
constexpr Section kRagRerank{kRagRerankKeys};

constexpr Key kRagKeys[] = {
    enabled<RagPlugin>("false adds no documents. Default: true."),
    word(FIELD(RagPlugin, backend), "milvus qdrant external_api mcp openai vectorstore hybrid",
         "Where the documents are."),
    number(
        FIELD(RagPlugin, similarity_threshold), -1, 1,
        "Least similarity to the request, where the backend reports one. Default: 0.7 for milvus "
        "and qdrant."),
    count(FIELD(RagPlugin, top_k), "Documents to add. Default: 5."),
    count(FIELD(RagPlugin, max_context_length),
          "Greatest length of all documents, in characters. Default: 10000."),
    word(FIELD(RagPlugin, injection_mode), "tool_role system_prompt",
         "Add them as the result of a tool (default), or to the system prompt."),
    word(
        FIELD(RagPlugin, on_failure), "skip warn block",
        "If nothing is found or the search fails: continue without documents (`skip`, the default, "
        "and `warn`), or refuse the request (`block`)."),
    boolean(FIELD(RagPlugin, cache_results),
            "Keep the results of the last 1,024 searches, in 16 MiB at most."),
    count(FIELD(RagPlugin, cache_ttl_seconds),
          "Lifetime of kept results, in seconds. Default: 3600."),
    number(FIELD(RagPlugin, min_confidence_threshold), -1, 1,
           "Least confidence; below it nothing is added.")
        .not_built("documents are looked up whatever the confidence"),
    object(FIELD(RagPlugin, backend_config), kRagBackend, "Keys of the backend."),
    object(FIELD(RagPlugin, rerank), kRagRerank,
           "Order the documents by their relevance, with the model of `rag.reranker`."),
};

}  // namespace

constinit const Section kRagBackend{kRagBackendKeys};
constinit const Section kRag{kRagKeys, checked<check_rag>};

std::string unbuilt_part(const RagPlugin& plugin) {
  std::string out;
  all_backends(plugin, [&](std::string_view kind, const RagBackend& backend) {
    out = unbuilt_part(kind, backend, plugin.backend == "hybrid");
    return out.empty();
  });
  return out;
}

bool is_built(const RagPlugin& plugin) {
  return unbuilt_part(plugin).empty();
}

bool searches(const RagPlugin& plugin, std::string_view kind) {
  return !all_backends(plugin, [&](std::string_view each, const auto&) { return each != kind; });
}

bool compares_vectors(const RagPlugin& plugin) {
  return !all_backends(plugin, [](std::string_view kind, const auto& backend) {
    return !compares_vectors(kind, backend);
  });
}

}  // namespace signalbox::config
