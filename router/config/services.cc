// `global.services`: what listens, and what is told about requests. `http` is ours: upstream leaves
// these limits to a proxy.

#include "router/config/global_tables.h"
#include "router/config/service_tables.h"
#include "router/config/tls_pair.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

const Section<HttpLimits>& http_section() {
  using L = HttpLimits;
  static const Section<L> section{{
      optional("header_bytes_max", bytes(&L::header_bytes_max, 1024, 1 << 24),
               "of a request's header"),
      optional("body_bytes_max", bytes(&L::body_bytes_max, 1024, int64_t{1} << 30),
               "of a request's body"),
      optional("header_timeout", duration(&L::header_timeout, 1ms, 1h),
               "from a header's first byte to its end"),
      optional("body_timeout", duration(&L::body_timeout, 1ms, 1h), "for a body to arrive"),
      optional("idle_timeout", duration(&L::idle_timeout, 1ms, 24h),
               "between requests of one connection"),
      optional("connect_timeout", duration(&L::connect_timeout, 1ms, 10min),
               "to reach an upstream"),
      optional("connections_max", integer(&L::connections_max, 1, 10'000'000), "clients at a time"),
      optional("threads", integer(&L::threads, 0, 1024), "event loops; 0: one a processor"),
      optional("reply_header_bytes_max", bytes(&L::reply_header_bytes_max, 1024, 1 << 24),
               "of an upstream's reply"),
      optional("upstream_idle_max", integer(&L::upstream_idle_max, 0, 100'000),
               "kept connections to one upstream, an event loop"),
      optional("upstream_idle_timeout", duration(&L::upstream_idle_timeout, 1ms, 24h),
               "how long they are kept"),
      optional("model_threads", integer(&L::model_threads, 0, 1024),
               "that run the router's own models; 0: one a processor"),
      optional("model_queue_max", integer(&L::model_queue_max, 1, 1'000'000),
               "requests that wait for one; the next is decided without"),
      optional("model_dtype",
               choice(&L::model_dtype, {{"int8", ModelDtype::kI8},
                                        {"bf16", ModelDtype::kBF16},
                                        {"f32", ModelDtype::kF32}}),
               "numbers that the router's own models compute with"),
      optional("decision_timeout", duration(&L::decision_timeout, 1ms, 1h),
               "for models to say what a request is; then it is decided on what is known"),
      optional("guard_wait", duration(&L::guard_wait, 0ms, 1min),
               "for what a stream has said to be checked, at its end; the rest is unchecked"),
      optional("bodies_bytes_max", bytes(&L::bodies_bytes_max, 1024, int64_t{1} << 40),
               "of all requests that are being answered; the next gets 429"),
      optional("drain_timeout", duration(&L::drain_timeout, 0ms, 1h),
               "for requests in flight when the daemon ends"),
  }};
  return section;
}

const Section<Kubernetes>& kubernetes_section() {
  using namespace std::chrono_literals;
  using K = Kubernetes;
  static const Section<K> section{{
      optional("files", string(&K::files), "a folder of the resources, instead of a server"),
      optional("server", string(&K::server), "URL of the API server; none: the pod's"),
      optional("namespace", string(&K::namespace_name), "of the resources; none: the pod's"),
      optional("service_account", string(&K::service_account),
               "folder of token, ca.crt, namespace"),
      optional("debounce", duration(&K::debounce, 0ms, 60s), "before changes are taken up"),
      optional("wait_at_start", duration(&K::wait_at_start, 0ms, 600s),
               "for resources before it is ready"),
      optional("write_status", boolean(&K::write_status), "into the resources"),
  }};
  return section;
}

void check_ext_proc(Reader& reader, const yaml::Node& node, ExtProc& out) {
  check_tls_pair(reader, node, out);
  if (!out.tls_client_ca_path.empty() && out.tls_cert_path.empty())
    reader.error(node.line, "expected tls_cert_path beside tls_client_ca_path");
}

const Section<ExtProc>& ext_proc_section() {
  using E = ExtProc;
  static const Section<E> section{
      {
          optional("enabled", boolean(&E::enabled), "true listens for Envoy"),
          optional("address", text(&E::address), "interface to bind"),
          optional("port", integer(&E::port, 0, 65535), "TCP port of gRPC"),
          optional("streams_max", integer(&E::streams_max, 1, 1'000'000), "requests at a time"),
          optional("timeout", duration(&E::timeout, 1ms, 24h),
                   "for a whole request, reply included"),
          optional("tls_cert_path", text(&E::tls_cert_path),
                   "a certificate and its chain, PEM: gRPC over TLS"),
          optional("tls_key_path", text(&E::tls_key_path), "the certificate's key, PEM"),
          optional("tls_client_ca_path", text(&E::tls_client_ca_path),
                   "authorities, PEM: Envoy has to show a certificate that one of them signed"),
      },
      check_ext_proc};
  return section;
}

const Section<ManagementApi::Token>& token_section() {
  using T = ManagementApi::Token;
  static const Section<T> section{{
      required("env", text(&T::env), "environment variable that holds the token"),
      required("role", text(&T::role), "one of roles"),
  }};
  return section;
}

const Section<ManagementApi::Auth>& management_auth_section() {
  using A = ManagementApi::Auth;
  static const Section<A> section{{
      optional("mode", word(&A::mode, {"disabled", "bearer"}),
               "who is let in: all, or those with a token"),
      optional("tokens", list(&A::tokens, token_section), "who may ask"),
      optional("roles", texts_map(&A::roles), "for what"),
  }};
  return section;
}

const Section<ManagementApi>& management_section() {
  using M = ManagementApi;
  static const Section<M> section{
      {
          optional("enabled", boolean(&M::enabled), "false opens no management port"),
          optional("bind_address", text(&M::bind_address), "interface to bind"),
          optional("port", integer(&M::port, 0, 65535), "TCP port; 0 lets the system choose"),
          optional("remote_exposure", boolean(&M::remote_exposure), "let other machines ask"),
          optional("allowed_hosts", texts(&M::allowed_hosts),
                   "names by which it may be asked besides localhost and its address"),
          optional("tls_cert_path", text(&M::tls_cert_path),
                   "a certificate and its chain, PEM: HTTPS instead of HTTP; ours"),
          optional("tls_key_path", text(&M::tls_key_path), "the certificate's key, PEM; ours"),
          optional("auth", object(&M::auth, management_auth_section), "who may ask"),
      },
      check_tls_pair<ManagementApi>};
  return section;
}

const Section<BatchClassification::Range>& range_section() {
  using R = BatchClassification::Range;
  static const Section<R> section{{
      optional("min", count(&R::min), "texts of a request"),
      optional("max", integer(&R::max, -1, 1'000'000'000), "texts of a request; -1: any number"),
      optional("label", string(&R::label), "in the metrics"),
  }};
  return section;
}

const Section<BatchClassification::Metrics>& batch_metrics_section() {
  using M = BatchClassification::Metrics;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "measure"),
      optional("sample_rate", share(&M::sample_rate), "of the requests"),
      optional("batch_size_ranges", list(&M::batch_size_ranges, range_section), "by size"),
      optional("duration_buckets", numbers(&M::duration_buckets), "seconds"),
      optional("size_buckets", numbers(&M::size_buckets), "texts"),
      optional("detailed_goroutine_tracking", boolean(&M::detailed_goroutine_tracking),
               "of upstream's runtime"),
      optional("high_resolution_timing", boolean(&M::high_resolution_timing),
               "of upstream's runtime"),
  }};
  return section;
}

const Section<BatchClassification>& batch_section() {
  using B = BatchClassification;
  static const Section<B> section{{
      optional("max_batch_size", count(&B::max_batch_size), "texts of a request"),
      optional("concurrency_threshold", count(&B::concurrency_threshold),
               "from so many on in parallel")
          .not_built("texts of a batch go through the model together"),
      optional("max_concurrency", count(&B::max_concurrency), "texts at a time")
          .not_built("texts of a batch go through the model together"),
      optional("metrics", object(&B::metrics, batch_metrics_section), "of batches")
          .not_built("batches are not measured"),
  }};
  return section;
}

const Section<ClassificationApi>& api_section() {
  static const Section<ClassificationApi> section{{
      optional("batch_classification",
               object(&ClassificationApi::batch_classification, batch_section), "of several texts"),
  }};
  return section;
}

void check_response_api(Reader& reader, const yaml::Node& node, ResponseApi& out) {
  if (out.store_backend.empty() || out.store_backend == "memory") return;
  reader.at_key("store_backend", [&] {
    reader.not_built(node.find("store_backend")->line, "responses are kept in memory");
  });
}

const Section<ResponseApi>& response_api_section() {
  using R = ResponseApi;
  static const Section<R> section{
      {
          optional("enabled", boolean(&R::enabled), "serve /v1/responses"),
          optional("store_backend", string(&R::store_backend), "memory or redis"),
          optional("ttl_seconds", count(&R::ttl_seconds), "how long a response is kept"),
          optional("max_responses", count(&R::max_responses), "that are kept"),
          optional("redis", object(&R::redis, redis_section), "of redis")
              .not_built("responses are kept in memory"),
      },
      check_response_api};
  return section;
}

const Section<StartupStatus>& startup_status_section() {
  using S = StartupStatus;
  static const Section<S> section{{
      optional("store_backend", string(&S::store_backend), "file or redis"),
      optional("redis", object(&S::redis, redis_section), "of redis"),
  }};
  return section;
}

constexpr std::string_view kInMemory = "records are kept in memory";

const Section<RouterReplay>& replay_section() {
  using R = RouterReplay;
  static const Section<R> section{{
      optional("enabled", boolean(&R::enabled), "record what was decided"),
      optional("store_backend", string(&R::store_backend),
               "memory, redis, postgres, milvus or qdrant"),
      optional("ttl_seconds", count(&R::ttl_seconds), "how long a record is kept"),
      optional("max_records", integer(&R::max_records, 1, 1'000'000), "that are kept"),
      optional("async_writes", boolean(&R::async_writes), "requests do not wait for it"),
      optional("redis", object(&R::redis, redis_section), "of redis").not_built(kInMemory),
      optional("postgres", object(&R::postgres, postgres_section), "of postgres")
          .not_built(kInMemory),
      optional("milvus", object(&R::milvus, milvus_address_section), "of milvus")
          .not_built(kInMemory),
      optional("qdrant", object(&R::qdrant, qdrant_section), "of qdrant").not_built(kInMemory),
  }};
  return section;
}

}  // namespace

const Section<Config>& services_section() {
  using C = Config;
  static const Section<C> section{{
      optional("http", object(&C::http, http_section), "limits of the HTTP server"),
      optional("ext_proc", object(&C::ext_proc, ext_proc_section), "Envoy's external processing"),
      optional("kubernetes", object(&C::kubernetes, kubernetes_section),
               "models and routes, with config_source: kubernetes"),
      optional("management_api", object(&C::management, management_section), "the management port"),
      optional("api", object(&C::api, api_section), "classification"),
      optional("response_api", object(&C::response_api, response_api_section), "/v1/responses"),
      optional("observability", object(&C::observability, observability_section),
               "traces and metrics"),
      optional("authz", object(&C::authz, authz_section), "who asks"),
      optional("ratelimit", object(&C::ratelimit, ratelimit_section), "how often"),
      optional("startup_status", object(&C::startup_status, startup_status_section),
               "of upstream's parts"),
      optional("router_replay", object(&C::router_replay, replay_section), "records of requests"),
  }};
  return section;
}

}  // namespace signalbox::config
