// The servers of stores: Redis, Valkey, PostgreSQL, Milvus and Qdrant.

#include <algorithm>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

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
    string(FIELD(Redis, key_prefix), "Prefix of every key.").also("collection_prefix"),
    boolean(FIELD(Redis, cluster_mode), "A cluster of several servers. Not built: refused."),
    texts(FIELD(Redis, cluster_addresses), "Addresses of the cluster.")
        .not_built("one server is used"),
    count(FIELD(Redis, pool_size), "Greatest number of connections.").no_effect(kConnections),
    count(FIELD(Redis, min_idle_conns), "Idle connections to keep.").no_effect(kConnections),
    count(FIELD(Redis, max_retries), "Attempts of a command.")
        .no_effect("a command that fails counts as a miss"),
    count(FIELD(Redis, dial_timeout), "Time limit of a connection, in seconds.")
        .also("connect_timeout"),
    count(FIELD(Redis, read_timeout), "Time limit of a look-up, in seconds.").also("timeout"),
    count(FIELD(Redis, write_timeout), "Time limit of a write, in seconds."),
    boolean(FIELD(Redis, use_tls), "Connect with TLS.").also("tls_enabled"),
    boolean(FIELD(Redis, tls_skip_verify), kAnyCertificate).also("tls_insecure_skip_verify"),
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

constexpr uint32_t kPostgresSecondsMax = 3600;

constexpr Key kPostgresKeys[] = {
    string(FIELD(Postgres, host), "Host."),
    integer(FIELD(Postgres, port), 0, 65535, "Port. Default: 5432."),
    string(FIELD(Postgres, database), "Database."),
    string(FIELD(Postgres, user), "Name of the login."),
    string(FIELD(Postgres, password), kPassword),
    word(
        FIELD(Postgres, ssl_mode), "disable allow prefer require verify-ca verify-full",
        "What TLS has to prove, in the words of libpq. Default: `prefer`, which verifies nothing."),
    string(FIELD(Postgres, ssl_root_cert),
           "PEM file of the authorities that `verify-ca` and `verify-full` trust. Default: that of "
           "libpq, `$PGSSLROOTCERT` or `~/.postgresql/root.crt`. Signalbox only."),
    count(FIELD(Postgres, max_open_conns), "Greatest number of connections.")
        .no_effect(kConnections),
    count(FIELD(Postgres, max_idle_conns), "Idle connections to keep.").no_effect(kConnections),
    count(FIELD(Postgres, conn_max_lifetime), "Lifetime of a connection, in seconds.")
        .no_effect("connections are kept until they fail"),
    integer(FIELD(Postgres, dial_timeout), 0, kPostgresSecondsMax,
            "Time limit of a connection, in seconds, if the limit of its first look-up or write "
            "leaves as much. Default: half a second. Signalbox only."),
    integer(
        FIELD(Postgres, read_timeout), 0, kPostgresSecondsMax,
        "Time limit of a look-up, in seconds. The default depends on the store, from a tenth of "
        "a second for the cache to 2 seconds. Signalbox only."),
    integer(FIELD(Postgres, write_timeout), 0, kPostgresSecondsMax,
            "Time limit of a write, in seconds. Default: 1 or 2. Signalbox only."),
    string(FIELD(Postgres, table_name), "Table: a-z, 0-9 and _, not a digit at its beginning."),
};

constexpr Key kQdrantKeys[] = {
    string(FIELD(Qdrant, host), "Host."),
    integer(FIELD(Qdrant, port), 0, 65535,
            "Port. Default: 6334, that of gRPC. The router uses HTTP: at port 6333 then, and "
            "otherwise at this port."),
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

constexpr Key kMilvusAddressKeys[] = {
    string(FIELD(MilvusAddress, address),
           "Address, `host:port`, or a URL with `https` for TLS. Default port: 19530."),
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

constexpr size_t kCollectionNameMax = 200;
constexpr uint32_t kDimensionMax = 16'384;
constexpr std::string_view kMemoryCollection = "signalbox_memories";
constexpr uint16_t kMilvusPort = 19'530, kQdrantRpcPort = 6334, kQdrantHttpPort = 6333;

bool is_qdrant_name(std::string_view name) {
  return name.size() <= kCollectionNameMax && std::ranges::all_of(name, [](char c) {
           return ascii::is_alnum(c) || c == '_' || c == '-';
         });
}

bool is_milvus_name(std::string_view name) {
  return is_qdrant_name(name) && !ascii::is_digit(name.front()) &&
         name.find('-') == std::string_view::npos;
}

void check_milvus_address(Reader& reader, const yaml::Node& node, const MilvusAddress& keys) {
  if (keys.address.empty()) return reader.error(node.line, "expected an address");
  if (const auto address = milvus_endpoint(keys.address); !address) {
    reader.at_key("address",
                  [&] { reader.error(node.find("address")->line, address.error().message); });
  }
  const std::string& level = keys.consistency_level;
  if (level.empty() || level == "Strong") return;
  reader.at_key("consistency_level", [&] {
    reader.does_without(
        node.find("consistency_level")->line,
        fmt::format("{} has no effect: memories are read with Strong, so that no deleted "
                    "one is found",
                    level));
  });
}

void check_dimension(Reader& reader, const yaml::Node& node, uint32_t dimension) {
  if (dimension <= kDimensionMax) return;
  reader.at_key("dimension", [&] {
    reader.error(node.find("dimension")->line,
                 fmt::format("expected at most {}, found {}", kDimensionMax, dimension));
  });
}

/// The first name that is set.
std::string first_name(const std::string& name, const std::string& other) {
  if (!name.empty()) return name;
  return other.empty() ? std::string(kMemoryCollection) : other;
}

}  // namespace

uint16_t http_port(const Qdrant& qdrant) {
  return qdrant.port == kQdrantRpcPort ? kQdrantHttpPort : qdrant.port;
}

Result<Endpoint> milvus_endpoint(std::string_view address) {
  const bool is_url = address.find("://") != std::string_view::npos;
  if (is_url) {
    SIGNALBOX_TRY(const Endpoint at, parse_base_url(address));
    if (at.path.empty()) return at;
    return fail(Code::kInvalid, "expected a URL without a path");
  }
  if (address.find_first_of("/@") != std::string_view::npos)
    return fail(Code::kInvalid,
                "expected host:port; the login has keys of its own: username and password");
  const size_t after_host = address.starts_with('[') ? address.find(']') : 0;
  const bool has_port = after_host != std::string_view::npos &&
                        address.find(':', after_host) != std::string_view::npos;
  SIGNALBOX_TRY(Endpoint at, parse_endpoint(address, false));
  if (!has_port) at.port = kMilvusPort;
  return at;
}

std::string collection_of(const MilvusAddress& keys) {
  return first_name(keys.collection, keys.collection_name);
}

std::string collection_of(const Qdrant& keys) {
  return keys.collection_prefix + first_name(keys.collection, keys.collection_name);
}

constinit const Section kRedis{kRedisKeys};
constinit const Section kPostgres{kPostgresKeys};
constinit const Section kQdrant{kQdrantKeys};
constinit const Section kValkey{kValkeyKeys};
constinit const Section kMilvusAddress{kMilvusAddressKeys};
constinit const Section kMilvus{kMilvusKeys};

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

void check_postgres(Reader& reader, const yaml::Node& node, const Postgres& postgres) {
  const yaml::Node* const section = node.find("postgres");
  reader.at_key("postgres", [&] {
    if (postgres.host.empty()) {
      reader.error(section == nullptr ? node.line : section->line, "expected a host");
      return;
    }
    if (!postgres.table_name.empty() && !is_table_name(postgres.table_name)) {
      reader.at_key("table_name", [&] {
        reader.error(section->find("table_name")->line,
                     fmt::format("expected at most {} of a-z, 0-9 and _, not a digit first, found "
                                 "{}",
                                 kTableNameBytesMax, json::quote_briefly(postgres.table_name)));
      });
    }
    if (!postgres.ssl_root_cert.empty() && !postgres.ssl_mode.starts_with("verify-")) {
      reader.at_key("ssl_root_cert", [&] {
        reader.error(
            section->find("ssl_root_cert")->line,
            fmt::format(
                "expected ssl_mode verify-ca or verify-full beside this key, found {}; "
                "only these verify the server",
                postgres.ssl_mode.empty() ? "nothing" : json::quote_briefly(postgres.ssl_mode)));
      });
    }
  });
}

void check_postgres_tables(Reader& reader, const yaml::Node& node, const Postgres& postgres) {
  check_postgres(reader, node, postgres);
  const std::string& name = postgres.table_name;
  if (name.size() <= kTablesNameBytesMax) return;
  reader.at_key("postgres", [&] {
    reader.at_key("table_name", [&] {
      reader.error(node.find("postgres")->find("table_name")->line,
                   fmt::format("expected at most {} bytes, because other tables have this name "
                               "with an ending, found {}",
                               kTablesNameBytesMax, json::quote_briefly(name)));
    });
  });
}

void note_unused(Reader& reader, const yaml::Node& node,
                 std::initializer_list<std::string_view> servers, const std::string& backend,
                 bool is_of_semantic_router) {
  for (const std::string_view key : servers) {
    const yaml::Node* const unused = key == backend ? nullptr : node.find(key);
    if (unused == nullptr) continue;
    const std::string why = fmt::format("has no effect, because the backend is {}", backend);
    reader.at_key(key, [&] {
      is_of_semantic_router ? reader.does_without(unused->line, why)
                            : reader.notice(unused->line, why);
    });
  }
}

void check_servers(Reader& reader, const yaml::Node& node, const std::string& backend,
                   const Redis& redis, const Valkey& valkey) {
  const yaml::Node* const at_redis = node.find("redis");
  const yaml::Node* const at_valkey = node.find("valkey");
  if (backend == "redis") {
    reader.at_key("redis", [&] {
      if (redis.address.empty() && redis.host.empty())
        reader.error(at_redis == nullptr ? node.line : at_redis->line,
                     "expected an address or a host");
      if (at_redis != nullptr) check_redis(reader, *at_redis, redis);
    });
  }
  if (backend == "valkey" && valkey.host.empty()) {
    reader.at_key("valkey", [&] {
      reader.error(at_valkey == nullptr ? node.line : at_valkey->line, "expected a host");
    });
  }
}

void check_memory_servers(Reader& reader, const yaml::Node& node, const MemoryStore& store) {
  check_servers(reader, node, store.backend, store.redis, store.valkey);
  note_unused(reader, node, {"redis", "valkey", "milvus", "qdrant"}, store.backend, true);
  if (store.backend != "milvus" && store.backend != "qdrant") return;
  const bool is_milvus = store.backend == "milvus";
  reader.at_key(store.backend, [&] {
    const yaml::Node* const found = node.find(store.backend);
    const yaml::Node& section = found == nullptr ? node : *found;
    if (is_milvus) {
      check_milvus_address(reader, section, store.milvus);
    } else if (store.qdrant.host.empty()) {
      reader.error(section.line, "expected a host");
    }
    check_dimension(reader, section, is_milvus ? store.milvus.dimension : store.qdrant.dimension);
    const std::string name = is_milvus ? collection_of(store.milvus) : collection_of(store.qdrant);
    if (is_milvus ? !is_milvus_name(name) : !is_qdrant_name(name))
      reader.error(section.line,
                   fmt::format("expected a collection whose name has at most {} of "
                               "{}, found {}",
                               kCollectionNameMax,
                               is_milvus ? "the letters, digits and _, not a digit first"
                                         : "the letters, digits, _ and -",
                               json::quote_briefly(name)));
  });
}

void read_valkey_as_redis(Reader&, const yaml::Node&, std::string& backend) {
  if (backend == "valkey") backend = "redis";
}

void check_store(Reader& reader, const yaml::Node& node, const StoreKeys& store, const Redis& redis,
                 const Postgres* postgres) {
  const bool is_redis = store.backend == "redis";
  const bool is_postgres = postgres != nullptr && store.backend == "postgres";
  if (is_shared(store.backend, redis)) {
    const std::string_view key = node.find("redis") == nullptr ? "valkey" : "redis";
    reader.at_key(std::string(key), [&] { check_redis(reader, *node.find(key), redis); });
  } else if (is_postgres && !postgres->host.empty()) {
    check_postgres_tables(reader, node, *postgres);
  } else if (!store.backend.empty() && store.backend != "memory") {
    const std::string why = is_redis      ? "redis has no address"
                            : is_postgres ? "postgres has no host"
                                          : fmt::format("{} is not supported", store.backend);
    reader.at_key(std::string(store.key), [&] {
      reader.does_without(node.find(store.key)->line,
                          fmt::format("{}: {} are kept in memory", why, store.records));
    });
    return;
  }
  const std::string_view kept = store.backend.empty() ? "memory" : std::string_view(store.backend);
  for (const std::string_view server : {"redis", "valkey", "postgres"}) {
    const bool is_used = server == kept || (server == "valkey" && kept == "redis");
    const yaml::Node* const section = is_used ? nullptr : node.find(server);
    if (section == nullptr || (server == "postgres" && postgres == nullptr)) continue;
    const std::string why = fmt::format("has no effect: {} are kept in {}, because {} is not {}",
                                        store.records, kept, store.key, server);
    // Files of the Semantic Router have the sections of all servers.
    reader.at_key(server, [&] {
      kept == "memory" ? reader.notice(section->line, why)
                       : reader.does_without(section->line, why);
    });
  }
}

}  // namespace signalbox::config
