// `global.stores`: what is kept between requests.

#include "router/config/global_tables.h"
#include "router/config/plugin_tables.h"
#include "router/config/routing.h"

namespace signalbox::config {
namespace {

bool keeps_in(std::string_view backend) {
  return backend == "memory" || backend == "redis" || backend == "valkey" ||
         backend == "postgres" || backend == "milvus";
}

Value<ResponseCacheStore> backend() {
  const Value<ResponseCacheStore> name = string(&ResponseCacheStore::backend_type);
  const auto read = [name](Reader& reader, const yaml::Node& node, ResponseCacheStore& into) {
    name.read(reader, node, into);
    if (keeps_in(into.backend_type)) return;
    reader.not_built(node.line,
                     fmt::format("{}: memory, redis, valkey, postgres and milvus are; every "
                                 "request reaches its model",
                                 into.backend_type));
  };
  return {name.expected, read, name.describe};
}

const Section<ResponseCacheStore>& response_cache_store_section() {
  using C = ResponseCacheStore;
  static const Section<C> section{{
      optional("enabled", boolean(&C::enabled), "false asks a model every time"),
      optional("backend_type", backend(),
               "memory, redis, valkey, postgres (ours), milvus, qdrant or hybrid"),
      optional("similarity_threshold", number(&C::similarity_threshold, -1, 1),
               "least similarity of two requests with one answer"),
      optional("max_entries", count(&C::max_entries), "of memory"),
      optional("bytes_max", bytes(&C::bytes_max, 1024, int64_t{1} << 40), "of memory; ours"),
      optional("snapshot_path", string(&C::snapshot_path),
               "a file that keeps the answers of memory over a restart; ours"),
      optional("ttl_seconds", count(&C::ttl_seconds), "how long an answer is kept"),
      optional("eviction_policy", word(&C::eviction_policy, {"fifo", "lru", "lfu"}),
               "which answer goes when there is no room"),
      optional("embedding_model", string(&C::embedding_model), "that compares requests")
          .not_built("the router's own embedding model compares them"),
      optional("use_hnsw", boolean(&C::use_hnsw), "of memory: an index")
          .not_built("there is one where it pays"),
      optional("hnsw_m", count(&C::hnsw_m), "of the index").not_built("the index has its own"),
      optional("hnsw_ef_construction", count(&C::hnsw_ef_construction), "of the index")
          .not_built("the index has its own"),
      optional("max_memory_entries", count(&C::max_memory_entries), "of hybrid")
          .not_built("answers are kept in memory"),
      optional("backend_config_path", string(&C::backend_config_path),
               "a file with the keys of the backend")
          .not_built("the keys stand here"),
      optional("milvus", object(&C::milvus, milvus_section), "of milvus"),
      optional("redis", object(&C::redis, redis_section), "of redis"),
      optional("valkey", object(&C::valkey, valkey_section), "of valkey"),
      optional("postgres", object(&C::postgres, postgres_section), "of postgres; ours"),
      optional("qdrant", object(&C::qdrant, qdrant_section), "of qdrant")
          .not_built("answers are kept in memory"),
  }};
  return section;
}

// What a cache that is switched off lacks is nobody's loss.
Value<Config> response_cache() {
  const Value<Config> store = object(&Config::response_cache, response_cache_store_section);
  const auto read = [store](Reader& reader, const yaml::Node& node, Config& into) {
    if (is_idle(node)) return reader.in_not_built([&] { store.read(reader, node, into); });
    store.read(reader, node, into);
  };
  return {store.expected, read, store.describe};
}

const Section<MemoryStore::Quality>& quality_section() {
  using Q = MemoryStore::Quality;
  static const Section<Q> section{{
      optional("initial_strength_days", count(&Q::initial_strength_days), "of a new memory"),
      optional("prune_threshold", number(&Q::prune_threshold), "weaker ones go"),
      optional("max_memories_per_user", count(&Q::max_memories_per_user), "that are kept"),
  }};
  return section;
}

const Section<MemoryStore>& memory_store_section() {
  using M = MemoryStore;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "remember what users say"),
      optional("backend", string(&M::backend), "milvus, qdrant or valkey"),
      optional("auto_store", boolean(&M::auto_store), "keep what is new"),
      optional("disabled_routes", texts(&M::disabled_routes), "decisions that do without"),
      optional("disabled_models", texts(&M::disabled_models), "models that do without"),
      optional("valkey", object(&M::valkey, valkey_section), "of valkey"),
      optional("milvus", object(&M::milvus, milvus_address_section), "of milvus"),
      optional("qdrant", object(&M::qdrant, qdrant_section), "of qdrant"),
      optional("redis_cache", object(&M::redis_cache, redis_section), "in front of the backend"),
      optional("embedding_model", string(&M::embedding_model), "that compares memories"),
      optional("extraction_batch_size", count(&M::extraction_batch_size), "turns at a time"),
      optional("default_retrieval_limit", count(&M::default_retrieval_limit),
               "memories that are added to a request"),
      optional("default_similarity_threshold", number(&M::default_similarity_threshold, -1, 1),
               "least similarity to the request"),
      optional("hybrid_search", boolean(&M::hybrid_search), "by words as well"),
      optional("hybrid_mode", string(&M::hybrid_mode), "how the two are joined"),
      optional("adaptive_threshold", boolean(&M::adaptive_threshold), "by what is found"),
      optional("quality_scoring", object(&M::quality_scoring, quality_section),
               "which memories stay"),
      optional("reflection", object(&M::reflection, memory_reflection_section),
               "what of a memory comes back"),
  }};
  return section;
}

const Section<VectorStore::Memory>& vector_memory_section() {
  static const Section<VectorStore::Memory> section{{
      optional("max_entries_per_store", count(&VectorStore::Memory::max_entries_per_store),
               "pieces of documents"),
  }};
  return section;
}

const Section<VectorStore::LlamaStack>& llama_stack_section() {
  using L = VectorStore::LlamaStack;
  static const Section<L> section{{
      optional("endpoint", string(&L::endpoint), "its URL"),
      optional("auth_token", string(&L::auth_token), "of the login"),
      optional("embedding_model", string(&L::embedding_model), "of its own"),
      optional("request_timeout_seconds", count(&L::request_timeout_seconds), "for an answer"),
      optional("search_type", string(&L::search_type), "vector, keyword or hybrid"),
  }};
  return section;
}

const Section<VectorStore>& vector_store_section() {
  using V = VectorStore;
  static const Section<V> section{{
      optional("enabled", boolean(&V::enabled), "store documents"),
      optional("backend_type", string(&V::backend_type),
               "memory, milvus, llama_stack, valkey or qdrant"),
      optional("file_storage_dir", string(&V::file_storage_dir), "where files are"),
      optional("max_file_size_mb", count(&V::max_file_size_mb), "of a file"),
      optional("embedding_model", string(&V::embedding_model), "that compares documents"),
      optional("embedding_dimension", count(&V::embedding_dimension), "of the embeddings"),
      optional("ingestion_workers", count(&V::ingestion_workers), "threads that read files"),
      optional("ingestion_drain_timeout_seconds", count(&V::ingestion_drain_timeout_seconds),
               "for them at the end"),
      optional("supported_formats", texts(&V::supported_formats), "endings of files"),
      optional("milvus", object(&V::milvus, milvus_section), "of milvus"),
      optional("memory", object(&V::memory, vector_memory_section), "of memory"),
      optional("llama_stack", object(&V::llama_stack, llama_stack_section), "of llama_stack"),
      optional("valkey", object(&V::valkey, valkey_section), "of valkey"),
      optional("qdrant", object(&V::qdrant, qdrant_section), "of qdrant"),
      optional("metadata_store", string(&V::metadata_store), "memory or postgres"),
      optional("metadata_postgres", object(&V::metadata_postgres, postgres_section), "of postgres"),
  }};
  return section;
}

const Section<ContextStore>& context_store_section() {
  using namespace std::chrono_literals;
  using C = ContextStore;
  constexpr int64_t kBytesMax = int64_t{1} << 50;
  static const Section<C> section{{
      optional("enabled", boolean(&C::enabled), "serve /v1/contexts and metadata.context_refs"),
      optional("directory", string(&C::directory),
               "where they are kept; none: in memory, until the process ends"),
      optional("memory_bytes", bytes(&C::memory_bytes, 0, kBytesMax),
               "of those in use; others are packed"),
      optional("bytes_max", bytes(&C::bytes_max, 0, kBytesMax), "of all, before they are packed"),
      optional("context_bytes_max", bytes(&C::context_bytes_max, 1, 1 << 30), "of one"),
      optional("tenant_bytes_max", bytes(&C::tenant_bytes_max, 0, kBytesMax), "of a client's"),
      optional("tenant_contexts_max", count(&C::tenant_contexts_max), "of a client"),
      optional("tenant_pinned_bytes", bytes(&C::tenant_pinned_bytes, 0, kBytesMax),
               "of those that a client pins; all clients together: half of memory_bytes"),
      optional("refs_max", integer(&C::refs_max, 1, 1000), "that a request refers to"),
      optional("compression", integer(&C::compression, 1, 19), "of Zstandard: fast to small"),
      optional("idle", duration(&C::idle, 1s, 24h * 365), "without use, until one leaves memory"),
      optional("ttl", duration(&C::ttl, 0ms, 24h * 3650),
               "without use, until one is forgotten; 0s: never"),
      optional("redis", object(&C::redis, redis_section), "that routers share them by"),
      optional("local_bytes", bytes(&C::local_bytes, 0, kBytesMax),
               "packed; what is over it is left to redis"),
      optional("local_idle", duration(&C::local_idle, 0ms, 24h * 3650),
               "without use, until one is left to redis; 0s: never"),
  }};
  return section;
}

}  // namespace

const Section<Config>& stores_section() {
  using C = Config;
  static const Section<C> section{{
      optional("response_cache", response_cache(), "answers").alias("semantic_cache"),
      optional("memory", object(&C::memory, memory_store_section), "what users said")
          .not_built("nothing is remembered between requests"),
      optional("vector_store", object(&C::vector_store, vector_store_section), "documents")
          .not_built("no documents are stored"),
      optional("contexts", object(&C::contexts, context_store_section),
               "messages that requests refer to"),
  }};
  return section;
}

bool keeps_answers(const ResponseCacheStore& store, const Decision& decision) {
  return decision.response_cache && decision.response_cache->enabled && keeps_answers(store);
}

bool keeps_answers(const ResponseCacheStore& store) {
  return store.enabled && keeps_in(store.backend_type);
}

}  // namespace signalbox::config
