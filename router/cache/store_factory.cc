// Missing keys keep the defaults of the adapters.

#include "router/cache/store_factory.h"

#include <algorithm>

#include "router/cache/milvus_remote.h"
#include "router/cache/postgres_remote.h"
#include "router/cache/redis_remote.h"
#include "router/cache/remote_store.h"
#include "router/stores/redis_config.h"

namespace signalbox::cache {
namespace {

constexpr uint32_t kMilvusTimeoutMax = 5;  // seconds

Eviction eviction_of(std::string_view policy) {
  if (policy == "lru") return Eviction::kLru;
  return policy == "lfu" ? Eviction::kLfu : Eviction::kFifo;
}

Result<RedisOptions> redis_options(const config::Redis& redis) {
  RedisOptions out;
  SIGNALBOX_TRY(out.server, stores::redis_server(redis));
  if (!redis.key_prefix.empty()) out.prefix = redis.key_prefix;
  stores::set_seconds(redis.read_timeout, out.look_up_limit);
  stores::set_seconds(redis.write_timeout, out.write_limit);
  return out;
}

Result<RedisOptions> valkey_options(const config::Valkey& valkey) {
  RedisOptions out;
  SIGNALBOX_TRY(out.server, stores::valkey_server(valkey));
  if (!valkey.collection_prefix.empty()) out.prefix = valkey.collection_prefix;
  stores::set_seconds(valkey.timeout, out.look_up_limit);
  return out;
}

Result<PostgresOptions> postgres_options(const config::Postgres& postgres) {
  PostgresOptions out;
  SIGNALBOX_TRY_VOID(stores::set_postgres(postgres, out));
  return out;
}

Result<MilvusOptions> milvus_options(const config::Milvus& milvus) {
  MilvusOptions out;
  const config::Milvus::Connection& connection = milvus.connection;
  if (connection.host.empty()) return fail(Code::kInvalid, "milvus.connection: it needs a host");
  if (connection.tls.enabled && !connection.tls.cert_file.empty())
    return fail(Code::kUnsupported,
                "milvus.connection.tls.cert_file: client certificates are not built");
  out.server.host = connection.host;
  out.server.port = connection.port;
  out.server.tls = connection.tls.enabled;
  out.server.ca_path = connection.tls.ca_file;
  if (connection.auth.enabled) {
    out.server.username = connection.auth.username;
    out.server.password = connection.auth.password;
  }
  out.database = connection.database;
  if (!milvus.collection.name.empty()) out.collection = milvus.collection.name;
  out.description = milvus.collection.description;
  out.makes_collection = milvus.development.auto_create_collection;
  out.consistency = milvus.search.consistency_level;
  // The Semantic Router's files set half a minute, which is too long for a router that stops or
  // that follows the log.
  stores::set_seconds(std::min(connection.timeout, kMilvusTimeoutMax), out.write_limit);
  return out;
}

Result<std::unique_ptr<Remote>> remote_of(const config::ResponseCacheStore& store) {
  if (store.backend_type == "postgres") {
    SIGNALBOX_TRY(const PostgresOptions options, postgres_options(store.postgres));
    return make_postgres_remote(options);
  }
  if (store.backend_type == "milvus") {
    SIGNALBOX_TRY(MilvusOptions options, milvus_options(store.milvus));
    return make_milvus_remote(std::move(options));
  }
  auto options =
      store.backend_type == "redis" ? redis_options(store.redis) : valkey_options(store.valkey);
  if (!options) return tl::unexpected<Error>(options.error());
  return make_redis_remote(*std::move(options));
}

/// Two invalid configurations count as the same.
bool is_same_milvus(const config::Milvus& a, const config::Milvus& b) {
  const auto one = milvus_options(a), other = milvus_options(b);
  return one && other ? *one == *other : one.has_value() == other.has_value();
}

}  // namespace

MemoryLimits limits_of(const config::ResponseCacheStore& store) {
  return {.entries = config::keeps_answers(store) ? store.max_entries : 0,
          .bytes = store.bytes_max,
          .eviction = eviction_of(store.eviction_policy)};
}

bool is_same_store(const config::ResponseCacheStore& a, const config::ResponseCacheStore& b) {
  return a.backend_type == b.backend_type && a.redis == b.redis && a.valkey == b.valkey &&
         a.postgres == b.postgres && is_same_milvus(a.milvus, b.milvus);
}

Result<std::unique_ptr<Store>> make_remote_store(const config::ResponseCacheStore& store) {
  if (!config::keeps_answers(store) || store.backend_type == "memory")
    return std::unique_ptr<Store>();
  SIGNALBOX_TRY(std::unique_ptr<Remote> remote, remote_of(store));
  std::unique_ptr<Store> out = std::make_unique<RemoteStore>(std::move(remote), limits_of(store));
  return out;
}

}  // namespace signalbox::cache
