#pragma once
// `global.stores` as structs, and the servers of stores and services.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "router/config/endpoint.h"
#include "router/config/plugins.h"

namespace signalbox::config {

struct Decision;

// --- servers; each store and service uses some of the keys ---

struct Redis {
  std::string address;  // host:port
  std::string host;     // instead of address
  uint16_t port = 0;
  std::string username;
  std::string password;
  uint32_t db = 0;
  std::string key_prefix;
  bool cluster_mode = false;
  std::vector<std::string> cluster_addresses;
  uint32_t pool_size = 0;
  uint32_t min_idle_conns = 0;
  uint32_t max_retries = 0;
  uint32_t dial_timeout = 0;  // seconds
  uint32_t read_timeout = 0;
  uint32_t write_timeout = 0;
  bool use_tls = false;
  bool tls_skip_verify = false;
  std::string tls_cert_path;
  std::string tls_key_path;
  std::string tls_ca_path;
  std::string config_path;
  uint32_t ttl_seconds = 0;
  bool enabled = true;

  bool operator==(const Redis&) const = default;
};

struct Postgres {
  std::string host;
  uint16_t port = 5432;
  std::string database;
  std::string user;
  std::string password;
  std::string ssl_mode;
  std::string ssl_root_cert;  // PEM file; "": libpq's default
  uint32_t max_open_conns = 0;
  uint32_t max_idle_conns = 0;
  uint32_t conn_max_lifetime = 0;  // seconds
  uint32_t dial_timeout = 0;       // seconds
  uint32_t read_timeout = 0;       // seconds
  uint32_t write_timeout = 0;      // seconds
  std::string table_name;

  bool operator==(const Postgres&) const = default;
};

struct Qdrant {
  std::string host;
  uint16_t port = 6334;
  std::string api_key;
  bool use_tls = false;
  uint32_t connect_timeout = 0;  // seconds
  std::string collection;
  std::string collection_name;
  std::string collection_prefix;
  uint32_t dimension = 0;

  bool operator==(const Qdrant&) const = default;
};
/// The port of HTTP: the router does not use gRPC with Qdrant.
uint16_t http_port(const Qdrant& qdrant);

struct Valkey {
  std::string host;
  uint16_t port = 6379;
  uint32_t database = 0;
  std::string password;
  uint32_t timeout = 0;  // seconds
  uint32_t connect_timeout = 0;
  std::string collection_prefix;
  std::string index_name;
  uint32_t dimension = 0;
  std::string metric_type;
  uint32_t index_m = 0;
  uint32_t index_ef_construction = 0;
  bool tls_enabled = false;
  std::string tls_ca_path;
  bool tls_insecure_skip_verify = false;

  bool operator==(const Valkey&) const = default;
};

/// Milvus, for memories and records.
struct MilvusAddress {
  std::string address;
  std::string username;
  std::string password;
  std::string collection;
  std::string collection_name;
  std::string consistency_level;
  uint32_t shard_num = 0;
  uint32_t dimension = 0;
  uint32_t num_partitions = 0;

  bool operator==(const MilvusAddress&) const = default;
};
/// "host:port", or a URL with http or https; the default port is 19530.
Result<Endpoint> milvus_endpoint(std::string_view address);

/// Milvus, for caches and document stores.
struct Milvus {
  struct Auth {
    bool enabled = false;
    std::string username;
    std::string password;
  };
  struct Tls {
    bool enabled = false;
    std::string cert_file;
    std::string key_file;
    std::string ca_file;
  };
  struct Connection {
    std::string host;
    uint16_t port = 19530;
    std::string database;
    uint32_t timeout = 0;  // seconds
    Auth auth;
    Tls tls;
  };
  struct VectorField {
    std::string name;
    uint32_t dimension = 0;
    std::string metric_type;
  };
  struct IndexParams {
    uint32_t m = 0;
    uint32_t ef_construction = 0;
  };
  struct Index {
    std::string type;
    IndexParams params;
  };
  struct Collection {
    std::string name;
    std::string description;
    VectorField vector_field;
    Index index;
  };
  struct SearchParams {
    uint32_t ef = 0;
  };
  struct Search {
    SearchParams params;
    uint32_t topk = 0;
    std::string consistency_level;
  };
  struct ConnectionPool {
    uint32_t max_connections = 0;
    uint32_t max_idle_connections = 0;
    uint32_t acquire_timeout = 0;
  };
  struct Batch {
    uint32_t insert_batch_size = 0;
    uint32_t timeout = 0;
  };
  struct Performance {
    ConnectionPool connection_pool;
    Batch batch;
  };
  struct Ttl {
    bool enabled = false;
    std::string timestamp_field;
    uint32_t cleanup_interval = 0;
  };
  struct Compaction {
    bool enabled = false;
    uint32_t interval = 0;
  };
  struct DataManagement {
    Ttl ttl;
    Compaction compaction;
  };
  struct Logging {
    std::string level;
    bool enable_query_log = false;
    bool enable_metrics = false;
  };
  struct Development {
    bool drop_collection_on_startup = false;
    bool auto_create_collection = false;
    bool verbose_errors = false;
  };
  Connection connection;
  Collection collection;
  Search search;
  Performance performance;
  DataManagement data_management;
  Logging logging;
  Development development;
};

// --- stores ---

struct ResponseCacheStore {
  bool enabled = true;
  std::string backend_type = "memory";
  double similarity_threshold = 0.8;
  uint32_t max_entries = 1000;
  uint64_t bytes_max = uint64_t{256} << 20;
  std::string snapshot_path;  // "": answers are lost when the process ends
  uint32_t ttl_seconds = 3600;
  std::string eviction_policy = "fifo";
  std::string embedding_model;
  bool use_hnsw = false;
  uint32_t hnsw_m = 0;
  uint32_t hnsw_ef_construction = 0;
  uint32_t max_memory_entries = 0;
  std::string backend_config_path;
  Postgres postgres;
  Milvus milvus;
  Redis redis;
  Valkey valkey;
  Qdrant qdrant;
};

/// True if the store keeps answers at all, and those of a decision: it is enabled and its backend
/// is built.
bool keeps_answers(const ResponseCacheStore& store);
bool keeps_answers(const ResponseCacheStore& store, const Decision& decision);

struct MemoryStore {
  struct Quality {
    uint32_t initial_strength_days = 30;
    double prune_threshold = 0.1;
    uint32_t max_memories_per_user = 1000;
  };
  bool enabled = false;
  std::string backend = "memory";
  bool auto_store = false;
  std::vector<std::string> disabled_routes;
  std::vector<std::string> disabled_models;
  uint32_t max_memories = 100'000;
  uint64_t bytes_max = 256 << 20;
  Redis redis;
  Valkey valkey;
  MilvusAddress milvus;
  Qdrant qdrant;
  Redis redis_cache;
  std::string embedding_model;
  uint32_t extraction_batch_size = 0;
  uint32_t default_retrieval_limit = 5;
  double default_similarity_threshold = 0.7;
  bool hybrid_search = false;
  std::string hybrid_mode;
  bool adaptive_threshold = false;
  Quality quality_scoring;
  MemoryReflection reflection;
};

/// True if routers share the memories on a server.
bool is_shared(const MemoryStore& store);
/// The collection of the memories.
std::string collection_of(const MilvusAddress& keys);
std::string collection_of(const Qdrant& keys);
/// The settings of the plugin `memory` for a decision: its own, or the defaults if the store is
/// enabled for every decision; null if it has no memories.
const MemoryPlugin* memory_of(const MemoryStore& store, const Decision& decision);
/// True if memories are found by words, too: the plugin's setting, or else the store's.
bool finds_by_words(const MemoryStore& store, const MemoryPlugin& plugin);

/// Contexts that requests refer to. Signalbox only.
struct ContextStore {
  bool enabled = true;
  std::string directory;              // "": in memory only
  uint64_t memory_bytes = 256 << 20;  // contexts in use, uncompressed
  uint64_t bytes_max = 1 << 30;       // all contexts, uncompressed
  uint64_t context_bytes_max = 16 << 20;
  uint64_t tenant_bytes_max = 256 << 20;
  uint32_t tenant_contexts_max = 1000;
  uint64_t tenant_pinned_bytes = 32 << 20;
  uint32_t refs_max = 16;                      // per request
  uint32_t compression = 3;                    // level of Zstandard
  std::chrono::milliseconds idle{600'000};     // without use; then it leaves memory
  std::chrono::milliseconds ttl{604'800'000};  // without use; then it is deleted; 0: never
  Redis redis;                                 // shared by routers; without an address: none
  uint64_t local_bytes = 1 << 30;              // compressed; further ones are only in Redis
  std::chrono::milliseconds local_idle{
      86'400'000};  // without use; then it is only in Redis; 0: never

  bool is_shared() const { return !redis.address.empty() || !redis.host.empty(); }
};

/// The Redis in which routers share the counts of rate limits and budgets. Signalbox only.
struct SharedCounts {
  Redis redis;  // without an address, each router counts for itself

  bool is_used() const { return !redis.address.empty() || !redis.host.empty(); }
};

/// Files of clients, and stores in which they are found.
struct VectorStore {
  struct Memory {
    uint32_t max_entries_per_store = 100'000;
  };
  struct LlamaStack {
    std::string endpoint;
    std::string auth_token;
    std::string embedding_model;
    uint32_t request_timeout_seconds = 0;
    std::string search_type;
  };
  bool enabled = false;
  std::string backend_type = "memory";
  std::string file_storage_dir = ".signalbox/vector_stores";
  uint32_t max_file_size_mb = 50;
  uint64_t bytes_max = uint64_t{1} << 30;
  uint64_t owner_bytes_max = uint64_t{256} << 20;
  uint32_t owner_files_max = 1'000;
  uint32_t owner_stores_max = 100;
  std::string embedding_model;
  uint32_t embedding_dimension = 0;
  uint32_t ingestion_workers = 2;
  uint32_t ingestion_drain_timeout_seconds = 0;
  std::vector<std::string> supported_formats;
  Milvus milvus;
  Memory memory;
  LlamaStack llama_stack;
  Valkey valkey;
  Qdrant qdrant;
  std::string metadata_store;
  Postgres metadata_postgres;
};

/// True if the router stores documents and searches them.
bool is_served(const VectorStore& store);

}  // namespace signalbox::config
