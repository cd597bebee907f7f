// Opens the store that the file names. Missing keys keep the defaults of the stores.

#include <utility>

#include "router/config/endpoint.h"
#include "router/shared_memories/copies.h"
#include "router/shared_memories/row_memories.h"
#include "router/shared_memories/row_servers.h"
#include "router/stores/redis_config.h"

namespace signalbox::shared_memories {
namespace {

using Opened = Result<std::unique_ptr<SharedMemories>>;

Opened open_redis(const config::MemoryStore& store) {
  const bool is_redis = store.backend == "redis";
  SIGNALBOX_TRY(auto server,
                is_redis ? stores::redis_server(store.redis) : stores::valkey_server(store.valkey));
  Options options{.server = std::move(server)};
  const std::string& prefix = is_redis ? store.redis.key_prefix : store.valkey.collection_prefix;
  if (!prefix.empty()) options.prefix = prefix;
  stores::set_seconds(is_redis ? store.redis.read_timeout : store.valkey.timeout,
                      options.read_limit);
  stores::set_seconds(is_redis ? store.redis.write_timeout : store.valkey.timeout,
                      options.write_limit);
  return make_redis_memories(std::move(options));
}

Opened open_milvus(const config::MilvusAddress& keys) {
  SIGNALBOX_TRY(const config::Endpoint at, config::milvus_endpoint(keys.address));
  MilvusRowOptions options{.collection = config::collection_of(keys),
                           .shards = keys.shard_num,
                           .partitions = keys.num_partitions};
  options.server = {.host = at.host,
                    .port = at.port,
                    .username = keys.username,
                    .password = keys.password,
                    .tls = at.tls};
  SIGNALBOX_TRY(auto rows, make_milvus_rows(std::move(options)));
  return make_row_memories(std::move(rows), {.dimension = keys.dimension});
}

Opened open_qdrant(const config::Qdrant& keys) {
  return make_row_memories(make_qdrant_rows(keys, config::collection_of(keys), {}),
                           {.dimension = keys.dimension});
}

}  // namespace

Result<std::unique_ptr<SharedMemories>> open(const config::MemoryStore& store) {
  auto opened = store.backend == "milvus"   ? open_milvus(store.milvus)
                : store.backend == "qdrant" ? open_qdrant(store.qdrant)
                                            : open_redis(store);
  if (!opened) return fail_in(kSection, std::move(opened).error());
  return opened;
}

}  // namespace signalbox::shared_memories
