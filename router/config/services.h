#pragma once
// `listeners`, `global.router`, `global.services` and `global.integrations` as structs.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/algorithm.h"
#include "router/config/plugins.h"
#include "router/config/stores.h"

namespace signalbox::config {

struct Listener {
  std::string name;
  std::string address = "127.0.0.1";
  uint16_t port = 0;                           // 0: the system picks one (tests)
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
  std::string tls_cert_path = {};              // "": plain HTTP
  std::string tls_key_path = {};
  std::vector<std::string> system_one = {};  // names that requests of System One may have
};

/// How the router's own models compute: see engine::Precision.
enum class ModelDtype : uint8_t { kI8, kBF16, kF32 };

/// Limits of the HTTP server and of the router's own models. The key `global.services.http` is
/// Signalbox's; the Semantic Router leaves these limits to Envoy.
struct HttpLimits {
  uint32_t header_bytes_max = 32 << 10;
  uint64_t body_bytes_max = 32 << 20;
  std::chrono::milliseconds header_timeout{10'000};  // from its first byte to its end
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};    // between requests on a kept connection
  std::chrono::milliseconds connect_timeout{3'000};  // to an upstream
  uint32_t connections_max = 10'000;
  uint32_t connections_per_address_max = 0;    // 0: half of connections_max
  std::vector<std::string> allowed_origins;    // of browser pages; "*": all
  uint32_t threads = 0;                        // event loops; 0: one per processor
  uint32_t reply_header_bytes_max = 64 << 10;  // of an upstream
  uint32_t upstream_idle_max = 64;             // kept connections to one upstream per event loop
  std::chrono::milliseconds upstream_idle_timeout{30'000};
  uint32_t model_threads = 0;                // for the router's own models; 0: one per processor
  uint32_t model_queue_max = 256;            // requests that wait for these threads
  ModelDtype model_dtype = ModelDtype::kI8;  // of matrices that a file does not hold packed
  std::chrono::milliseconds decision_timeout{10'000};  // for models to classify a request
  std::chrono::milliseconds guard_wait{500};           // for the last checks of a stream
  uint64_t bodies_bytes_max = 1 << 30;                 // of all requests in flight
  std::chrono::milliseconds drain_timeout{10'000};     // for requests in flight at shutdown
};

/// The threads that evaluate requests. They mostly wait for the model threads. There are eight for
/// each of these, so that their requests to a model form batches, and so that many long requests
/// share the models.
uint32_t evaluating_threads(const HttpLimits& limits);

/// Envoy's external processing over gRPC: Envoy sends requests and replies here and calls the
/// servers itself. The key `global.services.ext_proc` is Signalbox's; the Semantic Router takes a
/// flag. By default it listens locally only, because its clients learn the API keys of the models'
/// servers.
struct ExtProc {
  bool enabled = false;
  std::string address = "127.0.0.1";
  uint16_t port = 50051;                       // 0: the system picks one (tests)
  uint32_t streams_max = 10'000;               // requests from Envoy at a time
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
  std::string tls_cert_path;                   // "": clear text
  std::string tls_key_path;
  std::string tls_client_ca_path;  // "": Envoy needs no certificate
};

/// The source of models and routes with `global.router.config_source: kubernetes`: two resources
/// of an API server or of files. The key `global.services.kubernetes` is Signalbox's.
struct Kubernetes {
  std::string files;           // a folder with the resources, instead of a server; "": a server
  std::string server;          // its URL; "": from the pod's environment
  std::string namespace_name;  // "": the pod's own
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";  // a folder
  std::chrono::milliseconds debounce{500};        // changes come in pairs
  std::chrono::milliseconds wait_at_start{5000};  // for the first resources, before it is ready
  bool write_status = true;                       // report the outcome in the resources
};

struct ManagementApi {
  struct Token {
    std::string env;  // environment variable that contains it
    std::string role;
  };
  struct Auth {
    std::string mode = "disabled";
    std::vector<Token> tokens;
    std::map<std::string, std::vector<std::string>> roles;  // permissions of each role
    bool token_for_changes = true;  // without other tokens, the one that the router makes
  };
  bool enabled = true;
  std::string bind_address = "127.0.0.1";
  uint16_t port = 8080;
  bool remote_exposure = false;
  std::vector<std::string> allowed_hosts;  // accepted in Host besides its address
  std::string tls_cert_path;               // "": plain HTTP
  std::string tls_key_path;
  Auth auth;
};

/// The audit log: who changed what, and who was refused.
struct Audit {
  enum class Unwritable : uint8_t { kReport, kRefuseChanges };
  std::string file;  // relative to the configuration file; "": none
  uint64_t bytes_max = uint64_t{64} << 20;
  uint32_t files_max = 100;
  Unwritable unwritable = Unwritable::kReport;
};

/// How requests of one API go to servers of another. The key `global.api` is Signalbox's.
struct ClientApis {
  enum class Untranslatable { kDrop, kRefuse };
  /// Handling of a part of a request that the API of the model's server has no place for.
  Untranslatable untranslatable = Untranslatable::kDrop;
  std::string files_model;  // the model whose server holds files and batches; "": the only one
};

// --- router ---

struct ModelSelection {
  struct Ml {
    std::string models_path;
    uint32_t embedding_dim = 0;
    MlSelector knn, kmeans, svm, mlp;
  };
  bool enabled = false;
  std::string method;  // an algorithm
  RouterDc router_dc;
  AutoMix automix;
  HybridSelection hybrid;
  Ml ml;
};

/// True if the store is a Redis that has an address.
inline bool is_shared(std::string_view backend, const Redis& redis) {
  return backend == "redis" && (!redis.address.empty() || !redis.host.empty());
}
/// True if the store is a Redis or a PostgreSQL that has an address.
inline bool is_shared(std::string_view backend, const Redis& redis, const Postgres& postgres) {
  return is_shared(backend, redis) || (backend == "postgres" && !postgres.host.empty());
}

struct Learning {
  struct Adaptation {
    bool enabled = true;
    std::string candidate_set;
    std::string strategy;
    double exploration = 0.5;  // Signalbox only
  };
  struct Headers {
    std::string session = "x-session-id";
    std::string conversation = "x-conversation-id";
  };
  struct Identity {
    Headers headers;
  };
  struct Tuning {
    uint32_t idle_timeout_seconds = 300;
    uint32_t min_turns_before_switch = 1;
    double switch_margin = 0.05;
    double stability_weight = 1;
  };
  struct Protection {
    bool enabled = true;
    std::string scope = "conversation";
    Identity identity;
    Tuning tuning;
  };
  struct StateStore {
    std::string backend;
    uint32_t ttl_seconds = 86'400;
    uint32_t timeout_ms = 0;  // of an exchange; 0: the default
    Redis redis;              // where routers share what they learn

    bool is_shared() const { return config::is_shared(backend, redis); }
  };
  bool enabled = false;
  Adaptation adaptation;
  Protection protection;
  StateStore state_store;
};

struct StreamedBody {
  bool enabled = false;
  uint64_t max_bytes = 0;
  uint32_t timeout_sec = 0;
};

struct SkipProcessing {
  bool enabled = false;
};

/// Facts about the agent behind a request, from a header that a proxy in front vouches for.
struct AgenticFacts {
  struct Trust {
    std::string marker_header = "x-vsr-agentic-facts-trusted";
    std::string marker_value = "1";
  };
  /// 0: the default.
  struct Bounds {
    uint32_t max_envelope_bytes = 0;
    uint32_t max_depth = 0;
    uint32_t max_capabilities = 0;
    uint32_t max_string_length = 0;
    std::chrono::milliseconds max_lifetime{300'000};
    std::chrono::milliseconds clock_skew{5'000};
  };
  bool enabled = false;
  std::string carrier_header = "x-vsr-agentic-facts";
  Trust trust;
  Bounds bounds;
};

struct RouterSettings {
  std::string config_source = "file";
  bool clear_route_cache = false;
  bool include_config_models_in_list = true;
  StreamedBody streamed_body;
  SkipProcessing skip_processing;
  AgenticFacts agentic_facts;
  bool entropy_reasoning = false;   // Signalbox only
  bool guards_named_models = true;  // Signalbox only
  bool masks_named_models = true;   // Signalbox only
  ModelSelection model_selection;
  Learning learning;
};

// --- services ---

struct BatchClassification {
  struct Range {
    uint32_t min = 0;
    int64_t max = 0;  // negative: no limit
    std::string label;
  };
  struct Metrics {
    bool enabled = false;
    double sample_rate = 1;
    std::vector<Range> batch_size_ranges;
    std::vector<double> duration_buckets;
    std::vector<double> size_buckets;
    bool detailed_goroutine_tracking = false;
    bool high_resolution_timing = false;
  };
  uint32_t max_batch_size = 100;
  uint32_t concurrency_threshold = 5;
  uint32_t max_concurrency = 8;
  Metrics metrics;
};

struct ClassificationApi {
  BatchClassification batch_classification;
};

struct ResponseApi {
  bool enabled = true;
  std::string store_backend;
  uint32_t ttl_seconds = 0;
  uint32_t max_responses = 0;
  Redis redis;  // where routers share responses
  Postgres postgres;

  bool is_shared() const { return config::is_shared(store_backend, redis, postgres); }
};

struct Observability {
  struct Exporter {
    std::string type;
    std::string endpoint;
    std::string protocol;  // "grpc" or "http/protobuf"; "": by the port of the endpoint
    bool insecure = false;
    std::string tls_ca_path;  // PEM file of authorities for its certificate; "": the system's
    std::map<std::string, std::string> headers;
  };
  struct Sampling {
    std::string type;
    double rate = 1;
  };
  struct Resource {
    std::string service_name;
    std::string service_version;
    std::string deployment_environment;
  };
  struct Tracing {
    bool enabled = true;
    std::string provider;
    Exporter exporter;
    Sampling sampling;
    Resource resource;
  };
  struct WindowedMetrics {
    bool enabled = false;
    std::vector<std::string> time_windows;
    std::chrono::milliseconds update_interval{0};
    bool model_metrics = false;
    bool queue_depth_estimation = false;
    uint32_t max_models = 0;
  };
  struct Metrics {
    bool enabled = true;
    // The address is Signalbox's; the Semantic Router takes a flag. Without a port only the
    // management API has metrics.
    std::string bind_address = "127.0.0.1";
    std::optional<uint16_t> port;  // 0: the system picks one
    Exporter exporter;             // of the router; the Semantic Router has none for metrics
    std::chrono::milliseconds export_interval{60'000};
    WindowedMetrics windowed_metrics;
  };
  Tracing tracing;
  Metrics metrics;
};

struct Authz {
  struct Identity {
    std::string user_id_header = "x-authz-user-id";
    std::string user_groups_header = "x-authz-user-groups";
    std::string ingress = "header-injection";
  };
  struct Provider {
    std::string type;
    std::map<std::string, std::string> headers;
  };
  bool fail_open = true;  // requests without an identity pass, without a role
  Identity identity;
  std::vector<Provider> providers;
};

struct RateLimit {
  struct Match {
    std::string user;   // "": any
    std::string group;  // "": any
    std::string model;  // "": any
  };
  struct Rule {
    std::string name;
    Match match;
    uint64_t requests_per_unit = 0;  // 0: no limit
    uint64_t tokens_per_unit = 0;
    std::chrono::seconds unit{60};
  };
  struct Provider {
    std::string type;
    std::string address;  // envoy-ratelimit
    std::string domain;
    std::vector<Rule> rules;  // local-limiter
  };
  bool fail_open = false;
  std::vector<Provider> providers;
};
/// A limit of the router itself with these rules.
RateLimit local_limit(std::vector<RateLimit::Rule> rules);

/// Counting and limiting what requests cost. The key `global.spending` is Signalbox's.
struct Spending {
  enum class By : uint8_t { kKey, kUser, kGroup };
  enum class Per : uint8_t { kDay, kMonth };
  enum class Then : uint8_t { kWarn, kCheaper, kRefuse };
  struct Budget {
    std::string name;
    By by = By::kKey;
    std::string of;  // the key, user or group; "": each of them has its own budget
    double amount = 0;
    std::string currency = "USD";
    Per per = Per::kMonth;
    Then then = Then::kRefuse;
    double warn_at = 0.8;  // share of the amount

    bool operator==(const Budget&) const = default;
  };
  std::string backend = "file";      // or "postgres"
  std::string file = "spending.db";  // relative to the configuration
  Postgres postgres;
  bool request_usage = true;  // requests the usage of streams even if the client does not
  std::vector<Budget> budgets;

  /// True if several routers have the same sums.
  bool is_common() const { return backend == "postgres"; }
};

struct StartupStatus {
  std::string store_backend;
  Redis redis;
};

struct RouterReplay {
  bool enabled = false;
  std::string store_backend;
  uint32_t ttl_seconds = 0;       // 0: as long as there is room
  uint32_t max_records = 1000;    // Signalbox only
  uint64_t bytes_max = 0;         // Signalbox only; of shared records; 0: no limit
  uint32_t body_ttl_seconds = 0;  // Signalbox only; 0: as long as the record
  bool capture_personal_data = true;
  bool async_writes = false;
  Redis redis;  // where routers share records
  Postgres postgres;
  MilvusAddress milvus;
  Qdrant qdrant;

  bool is_shared() const { return config::is_shared(store_backend, redis, postgres); }
};

// --- integrations ---

struct ToolsIntegration {
  bool enabled = false;
  uint32_t top_k = 3;
  double similarity_threshold = 0;
  std::string tools_db_path;
  bool fallback_to_empty = false;
  ToolFiltering advanced_filtering;
};

struct Looper {
  struct Names {
    std::vector<std::string> model_names;
  };
  struct FileState {
    std::string directory;
  };
  struct FlowState {
    std::string store_backend;
    uint32_t ttl_seconds = 0;
    FileState file;
    Redis redis;
  };
  struct Flow {
    std::vector<std::string> model_names;
    FlowState state;
  };
  /// Streams of clients while there is no answer. Signalbox only.
  struct Waiting {
    std::chrono::milliseconds open_after{1'000};
    std::chrono::milliseconds keep_alive{10'000};
  };
  std::string endpoint;
  uint32_t grpc_max_msg_size_mb = 0;
  uint32_t max_response_bytes_mb = 0;
  uint32_t timeout_seconds = 0;
  uint32_t retry_count = 0;
  std::map<std::string, std::string> headers;
  Names remom;
  Names fusion;
  Flow flow;
  // Signalbox only.
  LoopBudget budget{.max_calls = 64};
  uint32_t max_concurrent = 16;  // calls of one request at a time
  Waiting stream;
};

}  // namespace signalbox::config
