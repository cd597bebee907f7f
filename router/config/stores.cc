// `global.stores`: what is kept between requests, and the servers of stores and services.

#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

// --- servers ---

constexpr std::string_view kPassword = "Password of the login.";
constexpr std::string_view kAnyCertificate = "Accept any certificate of the server.";
constexpr std::string_view kAuthorities = "PEM file of the authorities to trust.";
constexpr std::string_view kConnections = "connections are opened as they are needed";
constexpr std::string_view kOwnIndex = "similar requests are found by the index of each router";

constexpr Key kRedisKeys[] = {
    string(FIELD(Redis, address), "Address, `host:port`."),
    string(FIELD(Redis, host), "Host, instead of `address`."),
    integer(FIELD(Redis, port), 0, 65535, "Port of `host`. Default: 6379."),
    string(FIELD(Redis, username), "Name of the login."),
    string(FIELD(Redis, password), kPassword),
    count(FIELD(Redis, db), "Number of the database. Default: 0.").also("database"),
    string(FIELD(Redis, key_prefix), "Prefix of every key."),
    boolean(FIELD(Redis, cluster_mode), "A cluster of several servers. Not built: refused."),
    texts(FIELD(Redis, cluster_addresses), "Addresses of the cluster.")
        .not_built("one server is used"),
    count(FIELD(Redis, pool_size), "Greatest number of connections.").no_effect(kConnections),
    count(FIELD(Redis, min_idle_conns), "Idle connections to keep.").no_effect(kConnections),
    count(FIELD(Redis, max_retries), "Attempts of a command.")
        .no_effect("a command that fails counts as a miss"),
    count(FIELD(Redis, dial_timeout), "Time limit of a connection, in seconds."),
    count(FIELD(Redis, read_timeout), "Time limit of a look-up, in seconds."),
    count(FIELD(Redis, write_timeout), "Time limit of a write, in seconds."),
    boolean(FIELD(Redis, use_tls), "Connect with TLS.").also("tls_enabled"),
    boolean(FIELD(Redis, tls_skip_verify), kAnyCertificate),
    string(FIELD(Redis, tls_cert_path), "PEM file of the router's certificate."),
    string(FIELD(Redis, tls_key_path), "PEM file of the certificate's key."),
    string(FIELD(Redis, tls_ca_path), kAuthorities),
    string(FIELD(Redis, config_path), "File with these keys.")
        .not_built("only the keys of this mapping are read"),
    count(FIELD(Redis, ttl_seconds), "Lifetime of an entry, in seconds.")
        .no_effect("the lifetime of the store holds"),
    boolean(FIELD(Redis, enabled), "Use the server.")
        .no_effect("the backend of the store selects the server")
        .unless("true yes on"),
};

constexpr Key kPostgresKeys[] = {
    string(FIELD(Postgres, host), "Host."),
    integer(FIELD(Postgres, port), 0, 65535, "Port. Default: 5432."),
    string(FIELD(Postgres, database), "Database."),
    string(FIELD(Postgres, user), "Name of the login."),
    string(FIELD(Postgres, password), kPassword),
    string(FIELD(Postgres, ssl_mode), "`disable`, `require`, `verify-full` and others."),
    count(FIELD(Postgres, max_open_conns), "Greatest number of connections.")
        .no_effect(kConnections),
    count(FIELD(Postgres, max_idle_conns), "Idle connections to keep.").no_effect(kConnections),
    count(FIELD(Postgres, conn_max_lifetime), "Lifetime of a connection, in seconds.")
        .no_effect("connections are kept until they fail"),
    string(FIELD(Postgres, table_name), "Table."),
};

constexpr Key kQdrantKeys[] = {
    string(FIELD(Qdrant, host), "Host."),
    integer(FIELD(Qdrant, port), 0, 65535, "gRPC port. Default: 6334."),
    string(FIELD(Qdrant, api_key), "API key."),
    boolean(FIELD(Qdrant, use_tls), "Connect with TLS."),
    count(FIELD(Qdrant, connect_timeout), "Time limit of a connection, in seconds."),
    string(FIELD(Qdrant, collection), "Collection."),
    string(FIELD(Qdrant, collection_name), "Another name of `collection`."),
    string(FIELD(Qdrant, collection_prefix), "Prefix of the collection's name."),
    count(FIELD(Qdrant, dimension), "Numbers of an embedding."),
};

constexpr Key kValkeyKeys[] = {
    string(FIELD(Valkey, host), "Host."),
    integer(FIELD(Valkey, port), 0, 65535, "Port. Default: 6379."),
    count(FIELD(Valkey, database), "Number of the database. Default: 0.").also("db"),
    string(FIELD(Valkey, password), kPassword),
    count(FIELD(Valkey, timeout), "Time limit of a look-up, in seconds."),
    count(FIELD(Valkey, connect_timeout), "Time limit of a connection, in seconds."),
    string(FIELD(Valkey, collection_prefix), "Prefix of every key."),
    string(FIELD(Valkey, index_name), "Name of the search index.").no_effect(kOwnIndex),
    count(FIELD(Valkey, dimension), "Numbers of an embedding.").no_effect(kOwnIndex),
    string(FIELD(Valkey, metric_type), "`COSINE`, `L2` or `IP`.").no_effect(kOwnIndex),
    count(FIELD(Valkey, index_m), "HNSW: neighbours of an entry.").no_effect(kOwnIndex),
    count(FIELD(Valkey, index_ef_construction), "HNSW: candidates while an entry is added.")
        .no_effect(kOwnIndex),
    boolean(FIELD(Valkey, tls_enabled), "Connect with TLS."),
    string(FIELD(Valkey, tls_ca_path), kAuthorities),
    boolean(FIELD(Valkey, tls_insecure_skip_verify), kAnyCertificate),
};
constexpr Section kValkey{kValkeyKeys};

constexpr Key kMilvusAddressKeys[] = {
    string(FIELD(MilvusAddress, address), "Address, `host:port`."),
    string(FIELD(MilvusAddress, username), "Name of the login."),
    string(FIELD(MilvusAddress, password), kPassword),
    string(FIELD(MilvusAddress, collection), "Collection."),
    string(FIELD(MilvusAddress, collection_name), "Another name of `collection`."),
    string(FIELD(MilvusAddress, consistency_level), "`Strong`, `Bounded` and others."),
    count(FIELD(MilvusAddress, shard_num), "Shards of a new collection."),
    count(FIELD(MilvusAddress, dimension), "Numbers of an embedding."),
    count(FIELD(MilvusAddress, num_partitions), "Partitions of a new collection."),
};

constexpr Key kMilvusAuthKeys[] = {
    boolean(FIELD(Milvus::Auth, enabled), "Log in."),
    string(FIELD(Milvus::Auth, username), "Name of the login."),
    string(FIELD(Milvus::Auth, password), kPassword),
};
constexpr Section kMilvusAuth{kMilvusAuthKeys};

constexpr Key kMilvusTlsKeys[] = {
    boolean(FIELD(Milvus::Tls, enabled), "Connect with TLS."),
    string(FIELD(Milvus::Tls, cert_file),
           "PEM file of the router's certificate. Not built: refused."),
    string(FIELD(Milvus::Tls, key_file), "PEM file of the certificate's key.")
        .not_built("the router shows no certificate"),
    string(FIELD(Milvus::Tls, ca_file), kAuthorities),
};
constexpr Section kMilvusTls{kMilvusTlsKeys};

constexpr Key kMilvusConnectionKeys[] = {
    string(FIELD(Milvus::Connection, host), "Host."),
    integer(FIELD(Milvus::Connection, port), 0, 65535, "Port. Default: 19530."),
    string(FIELD(Milvus::Connection, database), "Database."),
    count(FIELD(Milvus::Connection, timeout),
          "Time limit of a write, in seconds, at most 5. A look-up has 100 ms."),
    object(FIELD(Milvus::Connection, auth), kMilvusAuth, "Login."),
    object(FIELD(Milvus::Connection, tls), kMilvusTls, "Encryption."),
};
constexpr Section kMilvusConnection{kMilvusConnectionKeys};

constexpr Key kMilvusVectorKeys[] = {
    string(FIELD(Milvus::VectorField, name), "Name of the field."),
    count(FIELD(Milvus::VectorField, dimension), "Numbers of an embedding."),
    string(FIELD(Milvus::VectorField, metric_type), "`COSINE`, `L2` or `IP`."),
};
constexpr Section kMilvusVector{kMilvusVectorKeys};

constexpr Key kMilvusIndexParamsKeys[] = {
    count(FIELD_AS("M", Milvus::IndexParams, m), "HNSW: neighbours of an entry."),
    count(FIELD_AS("efConstruction", Milvus::IndexParams, ef_construction),
          "HNSW: candidates while an entry is added."),
};
constexpr Section kMilvusIndexParams{kMilvusIndexParamsKeys};

constexpr Key kMilvusIndexKeys[] = {
    string(FIELD(Milvus::Index, type), "`HNSW` and others."),
    object(FIELD(Milvus::Index, params), kMilvusIndexParams, "Parameters of the type."),
};
constexpr Section kMilvusIndex{kMilvusIndexKeys};

constexpr Key kMilvusCollectionKeys[] = {
    string(FIELD(Milvus::Collection, name), "Name of the collection."),
    string(FIELD(Milvus::Collection, description), "Description of a new collection."),
    object(FIELD(Milvus::Collection, vector_field), kMilvusVector, "Field of the embeddings.")
        .not_built(kOwnIndex),
    object(FIELD(Milvus::Collection, index), kMilvusIndex, "Index of the embeddings.")
        .not_built(kOwnIndex),
};
constexpr Section kMilvusCollection{kMilvusCollectionKeys};

constexpr Key kMilvusSearchParamsKeys[] = {
    count(FIELD(Milvus::SearchParams, ef), "HNSW: candidates of a search."),
};
constexpr Section kMilvusSearchParams{kMilvusSearchParamsKeys};

constexpr Key kMilvusSearchKeys[] = {
    object(FIELD(Milvus::Search, params), kMilvusSearchParams, "Parameters of the index.")
        .not_built(kOwnIndex),
    count(FIELD(Milvus::Search, topk), "Results of a search.").not_built(kOwnIndex),
    string(FIELD(Milvus::Search, consistency_level), "`Strong`, `Bounded` and others."),
};
constexpr Section kMilvusSearch{kMilvusSearchKeys};

constexpr Key kMilvusPoolKeys[] = {
    count(FIELD(Milvus::ConnectionPool, max_connections), "Greatest number of connections."),
    count(FIELD(Milvus::ConnectionPool, max_idle_connections), "Idle connections to keep."),
    count(FIELD(Milvus::ConnectionPool, acquire_timeout), "Longest wait for one, in seconds."),
};
constexpr Section kMilvusPool{kMilvusPoolKeys};

constexpr Key kMilvusBatchKeys[] = {
    count(FIELD(Milvus::Batch, insert_batch_size), "Entries of an insertion."),
    count(FIELD(Milvus::Batch, timeout), "Time limit, in seconds."),
};
constexpr Section kMilvusBatch{kMilvusBatchKeys};

constexpr Key kMilvusPerformanceKeys[] = {
    object(FIELD(Milvus::Performance, connection_pool), kMilvusPool, "Connections."),
    object(FIELD(Milvus::Performance, batch), kMilvusBatch, "Insertions."),
};
constexpr Section kMilvusPerformance{kMilvusPerformanceKeys};

constexpr Key kMilvusTtlKeys[] = {
    boolean(FIELD(Milvus::Ttl, enabled), "Delete old entries."),
    string(FIELD(Milvus::Ttl, timestamp_field), "Field of the time of insertion."),
    count(FIELD(Milvus::Ttl, cleanup_interval), "Time between deletions, in seconds."),
};
constexpr Section kMilvusTtl{kMilvusTtlKeys};

constexpr Key kMilvusCompactionKeys[] = {
    boolean(FIELD(Milvus::Compaction, enabled), "Compact the collection."),
    count(FIELD(Milvus::Compaction, interval), "Time between compactions, in seconds."),
};
constexpr Section kMilvusCompaction{kMilvusCompactionKeys};

constexpr Key kMilvusDataKeys[] = {
    object(FIELD(Milvus::DataManagement, ttl), kMilvusTtl, "Lifetime of entries."),
    object(FIELD(Milvus::DataManagement, compaction), kMilvusCompaction, "Compaction."),
};
constexpr Section kMilvusData{kMilvusDataKeys};

constexpr Key kMilvusLoggingKeys[] = {
    string(FIELD(Milvus::Logging, level), "Level of the client's log."),
    boolean(FIELD(Milvus::Logging, enable_query_log), "Log queries."),
    boolean(FIELD(Milvus::Logging, enable_metrics), "Count queries."),
};
constexpr Section kMilvusLogging{kMilvusLoggingKeys};

constexpr Key kMilvusDevelopmentKeys[] = {
    boolean(FIELD(Milvus::Development, drop_collection_on_startup), "Start with no entries.")
        .not_built("the answers are kept"),
    boolean(FIELD(Milvus::Development, auto_create_collection), "Create a missing collection."),
    boolean(FIELD(Milvus::Development, verbose_errors), "Add details to error messages.")
        .not_built("error messages always have all details"),
};
constexpr Section kMilvusDevelopment{kMilvusDevelopmentKeys};

constexpr Key kMilvusKeys[] = {
    object(FIELD(Milvus, connection), kMilvusConnection, "Connection to the server."),
    object(FIELD(Milvus, collection), kMilvusCollection, "Collection of the entries."),
    object(FIELD(Milvus, search), kMilvusSearch, "Searches."),
    object(FIELD(Milvus, performance), kMilvusPerformance, "Settings of the client.")
        .not_built(kConnections),
    object(FIELD(Milvus, data_management), kMilvusData, "Deletion of old entries.")
        .not_built("expired entries are deleted every minute"),
    object(FIELD(Milvus, logging), kMilvusLogging, "Log of the client.")
        .not_built("the router's own log settings hold"),
    object(FIELD(Milvus, development), kMilvusDevelopment, "Settings for developers."),
};
constexpr Section kMilvus{kMilvusKeys};

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
    object(FIELD(ResponseCacheStore, qdrant), kQdrant, "The server, for `qdrant`.")
        .not_built("answers are kept in memory"),
};
constexpr Section kCacheStore{kCacheStoreKeys};

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

constexpr std::string_view kInProcess = "memories are kept in the process, Redis or Valkey";
constexpr std::string_view kNoWords = "memories are compared by their embeddings alone";

void note_memory_backend(Reader& reader, const yaml::Node& node, std::string& backend) {
  if (backend == "memory" || backend == "redis" || backend == "valkey") return;
  reader.does_without(node.line,
                      fmt::format("{} is not supported, only memory, redis and valkey: decisions "
                                  "with the plugin memory are refused, and others have no memories",
                                  backend));
}

constexpr Key kMemoryStoreKeys[] = {
    boolean(FIELD(MemoryStore, enabled),
            "Use memories in every decision, also without the plugin `memory`. Default: false."),
    word(FIELD(MemoryStore, backend), "memory redis valkey milvus qdrant",
         "`memory` (default, Signalbox only), `redis` (Signalbox only) or `valkey`, by which "
         "routers share them, `milvus` or `qdrant`.")
        .then<note_memory_backend>(),
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
    object(FIELD(MemoryStore, milvus), kMilvusAddress, "The server, for `milvus`.")
        .not_built(kInProcess),
    object(FIELD(MemoryStore, qdrant), kQdrant, "The server, for `qdrant`.").not_built(kInProcess),
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
    boolean(FIELD(MemoryStore, hybrid_search), "Search by words, too.").not_built(kNoWords),
    string(FIELD(MemoryStore, hybrid_mode), "How to combine the two searches.").not_built(kNoWords),
    boolean(FIELD(MemoryStore, adaptive_threshold), "Adapt the threshold to the results.")
        .not_built("the threshold stays as it is"),
    object(FIELD(MemoryStore, quality_scoring), kMemoryQuality, "Memories to keep."),
    object(FIELD(MemoryStore, reflection), kMemoryReflection, "Selection of memories."),
};

void check_memory_store(Reader& reader, const yaml::Node& node, MemoryStore& store) {
  if (store.backend == "redis") {
    const yaml::Node* const redis = node.find("redis");
    reader.at_key("redis", [&] {
      if (store.redis.address.empty() && store.redis.host.empty())
        reader.error(redis == nullptr ? node.line : redis->line, "expected an address or a host");
      if (redis != nullptr) check_redis(reader, *redis, store.redis);
    });
  }
  if (store.backend == "valkey" && store.valkey.host.empty()) {
    const yaml::Node* const valkey = node.find("valkey");
    reader.at_key("valkey", [&] {
      reader.error(valkey == nullptr ? node.line : valkey->line, "expected a host");
    });
  }
  for (const std::string_view key : {"redis", "valkey"}) {
    const yaml::Node* const unused = key == store.backend ? nullptr : node.find(key);
    if (unused == nullptr) continue;
    reader.at_key(key, [&] {
      reader.notice(unused->line,
                    fmt::format("has no effect, because the backend is {}", store.backend));
    });
  }
}

constexpr Section kMemoryStore{kMemoryStoreKeys, checked<check_memory_store>};

constexpr Key kVectorMemoryKeys[] = {
    count(FIELD(VectorStore::Memory, max_entries_per_store), "Passages of each store."),
};
constexpr Section kVectorMemory{kVectorMemoryKeys};

using LlamaStack = VectorStore::LlamaStack;

constexpr Key kLlamaStackKeys[] = {
    string(FIELD(LlamaStack, endpoint), "URL of the server."),
    string(FIELD(LlamaStack, auth_token), "Token of the login."),
    string(FIELD(LlamaStack, embedding_model), "Embedding model of the server."),
    count(FIELD(LlamaStack, request_timeout_seconds), "Time limit of a request, in seconds."),
    string(FIELD(LlamaStack, search_type), "`vector`, `keyword` or `hybrid`."),
};
constexpr Section kLlamaStack{kLlamaStackKeys};

constexpr Key kVectorStoreKeys[] = {
    boolean(FIELD(VectorStore, enabled), "Store documents."),
    string(FIELD(VectorStore, backend_type),
           "`memory`, `milvus`, `llama_stack`, `valkey` or `qdrant`."),
    string(FIELD(VectorStore, file_storage_dir), "Folder of the files."),
    count(FIELD(VectorStore, max_file_size_mb), "Greatest size of a file, in MB."),
    string(FIELD(VectorStore, embedding_model), "Model that compares documents."),
    count(FIELD(VectorStore, embedding_dimension), "Numbers of an embedding."),
    count(FIELD(VectorStore, ingestion_workers), "Threads that read files."),
    count(FIELD(VectorStore, ingestion_drain_timeout_seconds),
          "Time limit of these threads at shutdown, in seconds."),
    texts(FIELD(VectorStore, supported_formats), "Extensions of files."),
    object(FIELD(VectorStore, milvus), kMilvus, "The server, for `milvus`."),
    object(FIELD(VectorStore, memory), kVectorMemory, "Settings of `memory`."),
    object(FIELD(VectorStore, llama_stack), kLlamaStack, "The server, for `llama_stack`."),
    object(FIELD(VectorStore, valkey), kValkey, "The server, for `valkey`."),
    object(FIELD(VectorStore, qdrant), kQdrant, "The server, for `qdrant`."),
    string(FIELD(VectorStore, metadata_store), "`memory` or `postgres`."),
    object(FIELD(VectorStore, metadata_postgres), kPostgres, "The server, for `postgres`."),
};
constexpr Section kVectorStore{kVectorStoreKeys};

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
    object(FIELD(Config, vector_store), kVectorStore, "Documents.")
        .not_built("no documents are stored"),
    object(FIELD(Config, contexts), kContextStore,
           "Contexts that requests refer to. Signalbox only."),
    object(FIELD(Config, shared_counts), kSharedCounts,
           "Counts of rate limits and budgets that several routers share. Signalbox only."),
};

}  // namespace

constinit const Section kRedis{kRedisKeys};
constinit const Section kPostgres{kPostgresKeys};
constinit const Section kQdrant{kQdrantKeys};
constinit const Section kMilvusAddress{kMilvusAddressKeys};
constinit const Section kStores{kStoresKeys};

void check_redis(Reader& reader, const yaml::Node& node, const Redis& redis) {
  if (redis.cluster_mode) {
    reader.at_key("cluster_mode", [&] {
      reader.error(node.find("cluster_mode")->line,
                   "expected false, because a cluster is not supported; use one server");
    });
  }
  if (redis.address.empty()) return;
  reader.at_key("address", [&] {
    const uint32_t line = node.find("address")->line;
    if (redis.address.find_first_of("/@") != std::string::npos) {
      // Its value may have a password.
      reader.error(line,
                   "expected host:port, found a URL; the login and the database have keys of "
                   "their own: username, password and db");
    } else if (const auto address = parse_endpoint(redis.address, false); !address) {
      reader.error(line, address.error().message);
    }
  });
}

bool keeps_answers(const ResponseCacheStore& store) {
  return store.enabled && keeps_in(store.backend_type);
}

bool keeps_answers(const ResponseCacheStore& store, const Decision& decision) {
  return decision.response_cache && decision.response_cache->enabled && keeps_answers(store);
}

constinit const Section kMemoryReflection{kMemoryReflectionKeys};

bool is_shared(const MemoryStore& store) {
  return store.backend == "redis" || store.backend == "valkey";
}

bool is_built(const MemoryStore& store) {
  return store.backend == "memory" || is_shared(store);
}

const MemoryPlugin* memory_of(const MemoryStore& store, const Decision& decision) {
  static const MemoryPlugin defaults;
  if (decision.memory) return decision.memory->enabled ? &*decision.memory : nullptr;
  return store.enabled && is_built(store) ? &defaults : nullptr;
}

}  // namespace signalbox::config
