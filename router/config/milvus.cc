// Milvus as caches and document stores use it: the longest of the servers' sections.

#include "router/config/global_tables.h"

namespace signalbox::config {
namespace {

constexpr std::string_view kIndex = "near questions are found by the index of each router";

const Section<Milvus::Auth>& auth_section() {
  using A = Milvus::Auth;
  static const Section<A> section{{
      optional("enabled", boolean(&A::enabled), "log in"),
      optional("username", string(&A::username), "of the login"),
      optional("password", string(&A::password), "of the login"),
  }};
  return section;
}

const Section<Milvus::Tls>& tls_section() {
  using T = Milvus::Tls;
  static const Section<T> section{{
      optional("enabled", boolean(&T::enabled), "encrypt"),
      optional("cert_file", string(&T::cert_file), "our certificate"),
      optional("key_file", string(&T::key_file), "its key"),
      optional("ca_file", string(&T::ca_file), "whom to trust"),
  }};
  return section;
}

const Section<Milvus::Connection>& connection_section() {
  using C = Milvus::Connection;
  static const Section<C> section{{
      optional("host", string(&C::host), "the server"),
      optional("port", integer(&C::port, 0, 65535), "its port"),
      optional("database", string(&C::database), "the database"),
      optional("timeout", count(&C::timeout),
               "seconds for a write, at most 5; a look-up has 100 ms"),
      optional("auth", object(&C::auth, auth_section), "the login"),
      optional("tls", object(&C::tls, tls_section), "encryption"),
  }};
  return section;
}

const Section<Milvus::VectorField>& vector_field_section() {
  using V = Milvus::VectorField;
  static const Section<V> section{{
      optional("name", string(&V::name), "of the field"),
      optional("dimension", count(&V::dimension), "of the embeddings"),
      optional("metric_type", string(&V::metric_type), "COSINE, L2 or IP"),
  }};
  return section;
}

const Section<Milvus::IndexParams>& index_params_section() {
  using P = Milvus::IndexParams;
  static const Section<P> section{{
      optional("M", count(&P::m), "of HNSW"),
      optional("efConstruction", count(&P::ef_construction), "of HNSW"),
  }};
  return section;
}

const Section<Milvus::Index>& index_section() {
  using I = Milvus::Index;
  static const Section<I> section{{
      optional("type", string(&I::type), "HNSW, ..."),
      optional("params", object(&I::params, index_params_section), "of the type"),
  }};
  return section;
}

const Section<Milvus::Collection>& collection_section() {
  using C = Milvus::Collection;
  static const Section<C> section{{
      optional("name", string(&C::name), "of the collection"),
      optional("description", string(&C::description), "for people"),
      optional("vector_field", object(&C::vector_field, vector_field_section), "the embeddings")
          .not_built(kIndex),
      optional("index", object(&C::index, index_section), "over them").not_built(kIndex),
  }};
  return section;
}

const Section<Milvus::SearchParams>& search_params_section() {
  static const Section<Milvus::SearchParams> section{{
      optional("ef", count(&Milvus::SearchParams::ef), "of HNSW"),
  }};
  return section;
}

const Section<Milvus::Search>& search_section() {
  using S = Milvus::Search;
  static const Section<S> section{{
      optional("params", object(&S::params, search_params_section), "of the index")
          .not_built(kIndex),
      optional("topk", count(&S::topk), "results").not_built(kIndex),
      optional("consistency_level", string(&S::consistency_level), "Strong, Bounded, ..."),
  }};
  return section;
}

const Section<Milvus::ConnectionPool>& pool_section() {
  using P = Milvus::ConnectionPool;
  static const Section<P> section{{
      optional("max_connections", count(&P::max_connections), "at a time"),
      optional("max_idle_connections", count(&P::max_idle_connections), "that are kept"),
      optional("acquire_timeout", count(&P::acquire_timeout), "seconds"),
  }};
  return section;
}

const Section<Milvus::Batch>& insert_batch_section() {
  using B = Milvus::Batch;
  static const Section<B> section{{
      optional("insert_batch_size", count(&B::insert_batch_size), "entries"),
      optional("timeout", count(&B::timeout), "seconds"),
  }};
  return section;
}

const Section<Milvus::Performance>& performance_section() {
  using P = Milvus::Performance;
  static const Section<P> section{{
      optional("connection_pool", object(&P::connection_pool, pool_section), "connections"),
      optional("batch", object(&P::batch, insert_batch_section), "insertions"),
  }};
  return section;
}

const Section<Milvus::Ttl>& ttl_section() {
  using T = Milvus::Ttl;
  static const Section<T> section{{
      optional("enabled", boolean(&T::enabled), "entries grow old"),
      optional("timestamp_field", string(&T::timestamp_field), "when they came"),
      optional("cleanup_interval", count(&T::cleanup_interval), "seconds"),
  }};
  return section;
}

const Section<Milvus::Compaction>& compaction_section() {
  using C = Milvus::Compaction;
  static const Section<C> section{{
      optional("enabled", boolean(&C::enabled), "tidy up"),
      optional("interval", count(&C::interval), "seconds"),
  }};
  return section;
}

const Section<Milvus::DataManagement>& data_management_section() {
  using D = Milvus::DataManagement;
  static const Section<D> section{{
      optional("ttl", object(&D::ttl, ttl_section), "of entries"),
      optional("compaction", object(&D::compaction, compaction_section), "of the collection"),
  }};
  return section;
}

const Section<Milvus::Logging>& logging_section() {
  using L = Milvus::Logging;
  static const Section<L> section{{
      optional("level", string(&L::level), "of the client's log"),
      optional("enable_query_log", boolean(&L::enable_query_log), "log queries"),
      optional("enable_metrics", boolean(&L::enable_metrics), "count them"),
  }};
  return section;
}

const Section<Milvus::Development>& development_section() {
  using D = Milvus::Development;
  static const Section<D> section{{
      optional("drop_collection_on_startup", boolean(&D::drop_collection_on_startup), "start empty")
          .not_built("the answers are kept"),
      optional("auto_create_collection", boolean(&D::auto_create_collection),
               "make what is missing"),
      optional("verbose_errors", boolean(&D::verbose_errors), "say more")
          .not_built("errors say what they know"),
  }};
  return section;
}

}  // namespace

const Section<Milvus>& milvus_section() {
  using M = Milvus;
  static const Section<M> section{{
      optional("connection", object(&M::connection, connection_section), "to the server"),
      optional("collection", object(&M::collection, collection_section), "where entries are"),
      optional("search", object(&M::search, search_section), "for the nearest"),
      optional("performance", object(&M::performance, performance_section), "of the client")
          .not_built("connections are opened as they are needed"),
      optional("data_management", object(&M::data_management, data_management_section),
               "of old entries")
          .not_built("what has expired is deleted every minute"),
      optional("logging", object(&M::logging, logging_section), "of the client")
          .not_built("the log is the router's"),
      optional("development", object(&M::development, development_section), "for developers"),
  }};
  return section;
}

}  // namespace signalbox::config
