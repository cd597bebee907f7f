// `global.stores`: what is kept between requests, and the servers of stores and services.

#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

// --- stores ---

bool keeps_in(std::string_view backend) {
  return backend == "memory" || backend == "redis" || backend == "valkey" ||
         backend == "postgres" || backend == "milvus";
}

void note_cache_backend(Reader& reader, const yaml::Node& node, std::string& backend) {
  if (keeps_in(backend)) return;
  reader.does_without(
      node.line,
      fmt::format("{} is not supported, only memory, redis, valkey, postgres and milvus: every "
                  "request reaches its model",
                  backend));
}

void read_qdrant(Reader& reader, const yaml::Node& node, Qdrant& out) {
  reader.in_optional([&] { read_section(reader, node, kQdrant, &out); });
}

constexpr Key kCacheStoreKeys[] = {
    boolean(FIELD(ResponseCacheStore, enabled), "false calls a model every time. Default: true."),
    string(FIELD(ResponseCacheStore, backend_type),
           "`memory` (default), `redis`, `valkey`, `postgres` (Signalbox only), `milvus`, "
           "`qdrant` or `hybrid`.")
        .then<note_cache_backend>(),
    number(FIELD(ResponseCacheStore, similarity_threshold), -1, 1,
           "Least similarity of two requests that share an answer. Default: 0.8."),
    count(FIELD(ResponseCacheStore, max_entries), "Answers to keep, for `memory`. Default: 1000."),
    bytes(FIELD(ResponseCacheStore, bytes_max), 1024, int64_t{1} << 40,
          "Greatest size of all answers, for `memory`. Default: 256MiB. Signalbox only."),
    string(FIELD(ResponseCacheStore, snapshot_path),
           "File that keeps the answers of `memory` over a restart. Signalbox only."),
    count(FIELD(ResponseCacheStore, ttl_seconds),
          "Lifetime of an answer, in seconds. Default: 3600."),
    word(FIELD(ResponseCacheStore, eviction_policy), "fifo lru lfu",
         "Answer to drop if there is no room: the oldest (default), the least recently or the "
         "least frequently used."),
    string(FIELD(ResponseCacheStore, embedding_model), "Model that compares requests.")
        .not_built("the router's own embedding model compares them"),
    unread("polarity_guard", "Guard against opposite requests.",
           "the guard of the cache compares every hit"),
    boolean(FIELD(ResponseCacheStore, use_hnsw), "Use an index, for `memory`.")
        .not_built("an index is used if it is faster"),
    count(FIELD(ResponseCacheStore, hnsw_m), "HNSW: neighbours of an entry.")
        .not_built("the index chooses its own parameters"),
    count(FIELD(ResponseCacheStore, hnsw_ef_construction),
          "HNSW: candidates while an entry is added.")
        .not_built("the index chooses its own parameters"),
    count(FIELD(ResponseCacheStore, max_memory_entries), "Answers in memory, for `hybrid`.")
        .not_built("answers are kept in memory"),
    string(FIELD(ResponseCacheStore, backend_config_path), "File with the keys of the backend.")
        .not_built("only the keys of this file are read"),
    object(FIELD(ResponseCacheStore, milvus), kMilvus, "The server, for `milvus`."),
    object(FIELD(ResponseCacheStore, redis), kRedis, "The server, for `redis`."),
    object(FIELD(ResponseCacheStore, valkey), kValkey, "The server, for `valkey`."),
    object(FIELD(ResponseCacheStore, postgres), kPostgres,
           "The server, for `postgres`. Signalbox only."),
    object(FIELD(ResponseCacheStore, qdrant), kQdrant,
           "The server, for `qdrant`. Only the plugin `rag` uses its connection.")
        .read_by<read_qdrant>(),
};

void check_cache_store(Reader& reader, const yaml::Node& node, ResponseCacheStore& store) {
  if (store.enabled && store.backend_type == "postgres")
    check_postgres(reader, node, store.postgres);
}

constexpr Section kCacheStore{kCacheStoreKeys, checked<check_cache_store>};

// A cache that is switched off needs no notices about keys without an effect.
void read_cache_store(Reader& reader, const yaml::Node& node, ResponseCacheStore& store) {
  const auto read = [&] { read_section(reader, node, kCacheStore, &store); };
  is_idle(node) ? reader.in_not_built(read) : read();
}

constexpr Key kMemoryReflectionKeys[] = {
    boolean(FIELD(MemoryReflection, enabled),
            "false adds the memories as they are found. Default: true."),
    string(FIELD(MemoryReflection, algorithm),
           "`noop` is like `enabled: false`. Every other word is `heuristic` (default)."),
    count(FIELD(MemoryReflection, max_inject_tokens),
          "Greatest length of all memories, in tokens of four bytes. Default: 2048."),
    integer(FIELD(MemoryReflection, recency_decay_days), 1, 36'500,
            "Age at which the similarity of a memory counts half, in days. Default: 30."),
    number(FIELD(MemoryReflection, dedup_threshold), 0, 1,
           "Share of common words at which the less similar of two memories is left out. "
           "Default: 0.9."),
    texts(FIELD(MemoryReflection, block_patterns),
          "Regular expressions. A turn with a match in it is neither stored nor added."),
};

constexpr Key kMemoryQualityKeys[] = {
    integer(FIELD(MemoryStore::Quality, initial_strength_days), 1, 36'500,
            "Strength of a new memory, in days. Each use adds a day. Default: 30."),
    number(
        FIELD(MemoryStore::Quality, prune_threshold), 1e-6, 0.999,
        "A memory is deleted once exp(-DAYS / STRENGTH) is below this; DAYS have passed since it "
        "was last used. Default: 0.1, which is 69 days for a memory that was never used."),
    integer(FIELD(MemoryStore::Quality, max_memories_per_user), 1, 10'000,
            "Memories to keep for each user; the weakest is deleted first. Default: 1000."),
};
constexpr Section kMemoryQuality{kMemoryQualityKeys};

constexpr Key kMemoryStoreKeys[] = {
    boolean(FIELD(MemoryStore, enabled),
            "Use memories in every decision, also without the plugin `memory`. Default: false."),
    word(FIELD(MemoryStore, backend), "memory redis valkey milvus qdrant",
         "`memory` (Signalbox only; the default, unless there is a `milvus.address`), or a server "
         "by which routers share them: `redis` "
         "(Signalbox only), `valkey`, `milvus` or `qdrant`."),
    boolean(FIELD(MemoryStore, auto_store),
            "Store a turn of a conversation once it has its answer. Default: false."),
    texts(FIELD(MemoryStore, disabled_routes),
          "Paths without memories, such as `/v1/chat/completions`."),
    texts(FIELD(MemoryStore, disabled_models),
          "Models without memories, by the name that the client sends or that answers."),
    integer(FIELD(MemoryStore, max_memories), 1, 10'000'000,
            "Memories to keep for all users; the one that was used longest ago is deleted first. "
            "Default: 100000. Signalbox only."),
    bytes(FIELD(MemoryStore, bytes_max), 64 << 10, int64_t{1} << 40,
          "Greatest size of all memories. Default: 256MiB. Signalbox only."),
    object(FIELD(MemoryStore, redis), kRedis, "The server, for `redis`. Signalbox only."),
    object(FIELD(MemoryStore, valkey), kValkey, "The server, for `valkey`."),
    object(FIELD(MemoryStore, milvus), kMilvusAddress, "The server, for `milvus`."),
    object(FIELD(MemoryStore, qdrant), kQdrant, "The server, for `qdrant`."),
    object(FIELD(MemoryStore, redis_cache), kRedis, "Cache in front of the backend.")
        .not_built("each router keeps what it has read"),
    string(FIELD(MemoryStore, embedding_model), "Model that compares memories.")
        .not_built("the router's own embedding model compares them"),
    count(FIELD(MemoryStore, extraction_batch_size), "Turns to examine at a time.")
        .no_effect("turns are stored as they are, one at a time"),
    integer(FIELD(MemoryStore, default_retrieval_limit), 0, 100,
            "Memories to add to a request. Default: 5."),
    number(FIELD(MemoryStore, default_similarity_threshold), -1, 1,
           "Least similarity to the request. Default: 0.7."),
    boolean(FIELD(MemoryStore, hybrid_search), "Find memories by words, too. Default: false."),
    word(
        FIELD(MemoryStore, hybrid_mode), "weighted rrf rerank",
        "Join both searches by a weighted sum (`weighted`, the default, and `rerank`), or by their "
        "ranks (`rrf`)."),
    unread("persistence", "Queue in front of the backend.",
           "a turn is stored once its answer has been sent"),
    boolean(FIELD(MemoryStore, adaptive_threshold), "Adapt the threshold to the results.")
        .not_built("the threshold stays as it is"),
    object(FIELD(MemoryStore, quality_scoring), kMemoryQuality, "Memories to keep."),
    object(FIELD(MemoryStore, reflection), kMemoryReflection, "Selection of memories."),
};

// Milvus is the Semantic Router's default, so its files name only the address.
void check_memory_store(Reader& reader, const yaml::Node& node, MemoryStore& store) {
  const yaml::Node* backend = given(node, "backend");
  const bool is_open = backend == nullptr || backend->scalar.empty();
  if (is_open && !store.milvus.address.empty()) store.backend = "milvus";
  check_memory_servers(reader, node, store);
}

constexpr Section kMemoryStore{kMemoryStoreKeys, checked<check_memory_store>};

constexpr Key kVectorMemoryKeys[] = {
    integer(FIELD(VectorStore::Memory, max_entries_per_store), 1, 1'000'000,
            "Chunks of each store. Default: 100000."),
};
constexpr Section kVectorMemory{kVectorMemoryKeys};

constexpr std::string_view kInFolder = "files and stores lie in the folder and in memory";

void note_vector_backend(Reader& reader, const yaml::Node& node, std::string& backend) {
  if (backend == "memory") return;
  reader.does_without(node.line,
                      fmt::format("{} is not supported, only memory: no documents are stored, and "
                                  "decisions that search them are refused",
                                  backend));
}

using LlamaStack = VectorStore::LlamaStack;

constexpr Key kLlamaStackKeys[] = {
    string(FIELD(LlamaStack, endpoint), "URL of the server."),
    string(FIELD(LlamaStack, auth_token), "Token of the login."),
    string(FIELD(LlamaStack, embedding_model), "Embedding model of the server."),
    count(FIELD(LlamaStack, request_timeout_seconds), "Time limit of a request, in seconds."),
    string(FIELD(LlamaStack, search_type), "`vector`, `keyword` or `hybrid`."),
};
constexpr Section kLlamaStack{kLlamaStackKeys};

constexpr int64_t kDocumentBytesMax = int64_t{1} << 40;

constexpr Key kVectorStoreKeys[] = {
    boolean(FIELD(VectorStore, enabled),
            "Serve /v1/vector_stores and the files for them. Default: false."),
    word(FIELD(VectorStore, backend_type), "memory milvus llama_stack valkey qdrant",
         "`memory` (default), `milvus`, `llama_stack`, `valkey` or `qdrant`.")
        .then<note_vector_backend>(),
    text(FIELD(VectorStore, file_storage_dir),
         "Folder of the files and stores; a relative one lies beside this file. Default: "
         ".signalbox/vector_stores."),
    integer(FIELD(VectorStore, max_file_size_mb), 1, 1024,
            "Greatest size of a file, in MiB; `global.services.http.body_bytes_max` limits an "
            "upload, too. Default: 50."),
    bytes(FIELD(VectorStore, bytes_max), 1 << 20, kDocumentBytesMax,
          "Greatest size of all files, and of the chunks and vectors in all stores. Default: 1GiB. "
          "Signalbox only."),
    bytes(FIELD(VectorStore, owner_bytes_max), 1 << 16, kDocumentBytesMax,
          "The same for one user. Default: 256MiB. Signalbox only."),
    integer(FIELD(VectorStore, owner_files_max), 1, 100'000,
            "Files of one user. Default: 1000. Signalbox only."),
    integer(FIELD(VectorStore, owner_stores_max), 1, 10'000,
            "Stores of one user. Default: 100. Signalbox only."),
    string(FIELD(VectorStore, embedding_model), "Model that compares documents.")
        .not_built("the router's own embedding model compares them"),
    count(FIELD(VectorStore, embedding_dimension), "Numbers of an embedding.")
        .no_effect("the embedding model determines it"),
    integer(FIELD(VectorStore, ingestion_workers), 1, 16, "Threads that embed files. Default: 2."),
    count(FIELD(VectorStore, ingestion_drain_timeout_seconds),
          "Time limit of these threads at shutdown, in seconds.")
        .no_effect("the next start continues with unfinished files"),
    texts(FIELD(VectorStore, supported_formats),
          "Extensions of files that are accepted. Default: .txt, .md, .markdown, .rst, .json, "
          ".jsonl, .csv, .tsv, .log, .html, .htm, .xml, .yaml and .yml."),
    object(FIELD(VectorStore, milvus), kMilvus,
           "The server, for `milvus`. The plugin `rag` with the backend `milvus` uses its "
           "connection."),
    object(FIELD(VectorStore, memory), kVectorMemory, "Settings of `memory`."),
    object(FIELD(VectorStore, llama_stack), kLlamaStack, "The server, for `llama_stack`.")
        .not_built(kInFolder),
    object(FIELD(VectorStore, valkey), kValkey, "The server, for `valkey`.").not_built(kInFolder),
    object(FIELD(VectorStore, qdrant), kQdrant,
           "The server, for `qdrant`. Only the plugin `rag` uses its connection.")
        .read_by<read_qdrant>(),
    string(FIELD(VectorStore, metadata_store), "`memory` or `postgres`.")
        .no_effect(kInFolder)
        .unless("memory"),
    object(FIELD(VectorStore, metadata_postgres), kPostgres, "The server, for `postgres`.")
        .not_built(kInFolder),
};
constexpr Section kVectorStore{kVectorStoreKeys};

// A store that is not enabled needs no notices about keys without an effect.
void read_vector_store(Reader& reader, const yaml::Node& node, VectorStore& store) {
  const yaml::Node* const enabled =
      node.kind == yaml::Kind::kMapping ? node.find("enabled") : nullptr;
  const auto read = [&] { read_section(reader, node, kVectorStore, &store); };
  enabled == nullptr || is_idle(node) ? reader.in_not_built(read) : read();
}

constexpr int64_t kContextBytesMax = int64_t{1} << 50;

constexpr Key kContextStoreKeys[] = {
    boolean(FIELD(ContextStore, enabled),
            "Serve /v1/contexts and `metadata.context_refs`. Default: true."),
    string(FIELD(ContextStore, directory),
           "Folder of the contexts. Default: they are kept in memory until the process ends."),
    bytes(FIELD(ContextStore, memory_bytes), 0, kContextBytesMax,
          "Greatest size of the contexts in use; others are compressed. Default: 256MiB."),
    bytes(FIELD(ContextStore, bytes_max), 0, kContextBytesMax,
          "Greatest size of all contexts, uncompressed. Default: 1GiB."),
    bytes(FIELD(ContextStore, context_bytes_max), 1, 1 << 30,
          "Greatest size of a context. Default: 16MiB."),
    bytes(FIELD(ContextStore, tenant_bytes_max), 0, kContextBytesMax,
          "Greatest size of all contexts of a client. Default: 256MiB."),
    count(FIELD(ContextStore, tenant_contexts_max), "Contexts of a client. Default: 1000."),
    bytes(FIELD(ContextStore, tenant_pinned_bytes), 0, kContextBytesMax,
          "Greatest size of the contexts that a client pins; those of all clients may have half of "
          "`memory_bytes`. Default: 32MiB."),
    integer(FIELD(ContextStore, refs_max), 1, 1000,
            "Contexts that one request may refer to. Default: 16."),
    integer(FIELD(ContextStore, compression), 1, 19,
            "Level of Zstandard, from fast to small. Default: 3."),
    duration(FIELD(ContextStore, idle), 1s, 24h * 365,
             "Time without use after which a context is compressed. Default: 600s."),
    duration(FIELD(ContextStore, ttl), 0ms, 24h * 3650,
             "Time without use after which a context is deleted. 0s: never. Default: 7 days."),
    object(FIELD(ContextStore, redis), kRedis, "Server by which routers share contexts."),
    bytes(FIELD(ContextStore, local_bytes), 0, kContextBytesMax,
          "Greatest size of the compressed contexts here; further ones are only in Redis. "
          "Default: 1GiB."),
    duration(FIELD(ContextStore, local_idle), 0ms, 24h * 3650,
             "Time without use after which a context is only in Redis. 0s: never. Default: 24h."),
};
constexpr Section kContextStore{kContextStoreKeys};

constexpr Key kSharedCountsKeys[] = {
    object(FIELD(SharedCounts, redis), kRedis,
           "Server by which routers share counts. Default: each router counts for itself."),
};

void check_shared_counts(Reader& reader, const yaml::Node& node, SharedCounts& counts) {
  const yaml::Node* const redis = node.find("redis");
  reader.at_key("redis", [&] {
    if (!counts.is_used()) {
      reader.error(redis == nullptr ? node.line : redis->line,
                   "expected an address or a host; without the section, each router "
                   "counts for itself");
    }
    if (redis != nullptr) check_redis(reader, *redis, counts.redis);
  });
}

constexpr Section kSharedCounts{kSharedCountsKeys, checked<check_shared_counts>};

constexpr Key kStoresKeys[] = {
    object(FIELD(Config, response_cache), kCacheStore, "Answers.")
        .also("semantic_cache")
        .read_by<read_cache_store>(),
    object(FIELD(Config, memory), kMemoryStore, "Memories of users."),
    object(FIELD(Config, vector_store), kVectorStore, "Documents of clients and operators.")
        .read_by<read_vector_store>(),
    object(FIELD(Config, contexts), kContextStore,
           "Contexts that requests refer to. Signalbox only."),
    object(FIELD(Config, shared_counts), kSharedCounts,
           "Counts of rate limits and budgets that several routers share. Signalbox only."),
    unread("tool_sessions", "Tools of a conversation.", "tools are selected for each request anew"),
};

}  // namespace

constinit const Section kStores{kStoresKeys};

bool keeps_answers(const ResponseCacheStore& store) {
  return store.enabled && keeps_in(store.backend_type);
}

bool keeps_answers(const ResponseCacheStore& store, const Decision& decision) {
  return decision.response_cache && decision.response_cache->enabled && keeps_answers(store);
}

constinit const Section kMemoryReflection{kMemoryReflectionKeys};

bool is_served(const VectorStore& store) {
  return store.enabled && store.backend_type == "memory";
}

bool is_shared(const MemoryStore& store) {
  return store.backend != "memory";
}

const MemoryPlugin* memory_of(const MemoryStore& store, const Decision& decision) {
  static const MemoryPlugin defaults;
  if (decision.memory) return decision.memory->enabled ? &*decision.memory : nullptr;
  return store.enabled ? &defaults : nullptr;
}

bool finds_by_words(const MemoryStore& store, const MemoryPlugin& plugin) {
  return plugin.hybrid_search.value_or(store.hybrid_search);
}

}  // namespace signalbox::config
