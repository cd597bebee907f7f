// Servers that stores and services keep their data on.

#include "router/config/global_tables.h"

namespace signalbox::config {

const Section<Redis>& redis_section() {
  using R = Redis;
  static const Section<R> section{{
      optional("address", string(&R::address), "host:port"),
      optional("host", string(&R::host), "instead of address"),
      optional("port", integer(&R::port, 0, 65535), "beside host"),
      optional("username", string(&R::username), "of the login"),
      optional("password", string(&R::password), "of the login"),
      optional("db", count(&R::db), "number of the database").alias("database"),
      optional("key_prefix", string(&R::key_prefix), "in front of every key"),
      optional("cluster_mode", boolean(&R::cluster_mode), "several servers"),
      optional("cluster_addresses", texts(&R::cluster_addresses), "theirs"),
      optional("pool_size", count(&R::pool_size), "connections"),
      optional("min_idle_conns", count(&R::min_idle_conns), "of them kept"),
      optional("max_retries", count(&R::max_retries), "of a command"),
      optional("dial_timeout", count(&R::dial_timeout), "seconds"),
      optional("read_timeout", count(&R::read_timeout), "seconds"),
      optional("write_timeout", count(&R::write_timeout), "seconds"),
      optional("use_tls", boolean(&R::use_tls), "encrypt").alias("tls_enabled"),
      optional("tls_skip_verify", boolean(&R::tls_skip_verify), "trust any certificate"),
      optional("tls_cert_path", string(&R::tls_cert_path), "our certificate"),
      optional("tls_key_path", string(&R::tls_key_path), "its key"),
      optional("tls_ca_path", string(&R::tls_ca_path), "whom to trust"),
      optional("config_path", string(&R::config_path), "a file with these keys"),
      optional("ttl_seconds", count(&R::ttl_seconds), "how long an entry is kept"),
      optional("enabled", boolean(&R::enabled), "false does without"),
  }};
  return section;
}

const Section<Postgres>& postgres_section() {
  using P = Postgres;
  static const Section<P> section{{
      optional("host", string(&P::host), "the server"),
      optional("port", integer(&P::port, 0, 65535), "its port"),
      optional("database", string(&P::database), "the database"),
      optional("user", string(&P::user), "of the login"),
      optional("password", string(&P::password), "of the login"),
      optional("ssl_mode", string(&P::ssl_mode), "disable, require, verify-full, ..."),
      optional("max_open_conns", count(&P::max_open_conns), "connections"),
      optional("max_idle_conns", count(&P::max_idle_conns), "of them kept"),
      optional("conn_max_lifetime", count(&P::conn_max_lifetime), "seconds"),
      optional("table_name", string(&P::table_name), "the table"),
  }};
  return section;
}

const Section<Qdrant>& qdrant_section() {
  using Q = Qdrant;
  static const Section<Q> section{{
      optional("host", string(&Q::host), "the server"),
      optional("port", integer(&Q::port, 0, 65535), "its gRPC port"),
      optional("api_key", string(&Q::api_key), "of the login"),
      optional("use_tls", boolean(&Q::use_tls), "encrypt"),
      optional("connect_timeout", count(&Q::connect_timeout), "seconds"),
      optional("collection", string(&Q::collection), "where entries are"),
      optional("collection_name", string(&Q::collection_name), "the same"),
      optional("collection_prefix", string(&Q::collection_prefix), "in front of its name"),
      optional("dimension", count(&Q::dimension), "of the embeddings"),
  }};
  return section;
}

const Section<Valkey>& valkey_section() {
  using V = Valkey;
  static const Section<V> section{{
      optional("host", string(&V::host), "the server"),
      optional("port", integer(&V::port, 0, 65535), "its port"),
      optional("database", count(&V::database), "number of the database").alias("db"),
      optional("password", string(&V::password), "of the login"),
      optional("timeout", count(&V::timeout), "seconds"),
      optional("connect_timeout", count(&V::connect_timeout), "seconds"),
      optional("collection_prefix", string(&V::collection_prefix), "in front of every key"),
      optional("index_name", string(&V::index_name), "of the search index"),
      optional("dimension", count(&V::dimension), "of the embeddings"),
      optional("metric_type", string(&V::metric_type), "COSINE, L2 or IP"),
      optional("index_m", count(&V::index_m), "of HNSW"),
      optional("index_ef_construction", count(&V::index_ef_construction), "of HNSW"),
      optional("tls_enabled", boolean(&V::tls_enabled), "encrypt"),
      optional("tls_ca_path", string(&V::tls_ca_path), "whom to trust"),
      optional("tls_insecure_skip_verify", boolean(&V::tls_insecure_skip_verify),
               "trust any certificate"),
  }};
  return section;
}

const Section<MilvusAddress>& milvus_address_section() {
  using M = MilvusAddress;
  static const Section<M> section{{
      optional("address", string(&M::address), "host:port"),
      optional("username", string(&M::username), "of the login"),
      optional("password", string(&M::password), "of the login"),
      optional("collection", string(&M::collection), "where entries are"),
      optional("collection_name", string(&M::collection_name), "the same"),
      optional("consistency_level", string(&M::consistency_level), "Strong, Bounded, ..."),
      optional("shard_num", count(&M::shard_num), "of a new collection"),
      optional("dimension", count(&M::dimension), "of the embeddings"),
      optional("num_partitions", count(&M::num_partitions), "of a new collection"),
  }};
  return section;
}

}  // namespace signalbox::config
