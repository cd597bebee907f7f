#pragma once
// The configuration as the program uses it: plain structs with defaults, filled by config/load from
// a v0.3 file of the vLLM Semantic Router. All of the format stands here and in the headers below;
// what of it a file uses and nothing reads yet is reported by load().

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "router/config/catalog.h"
#include "router/config/providers.h"
#include "router/config/routing.h"
#include "router/config/services.h"
#include "router/config/stores.h"

namespace signalbox::config {

// --- listeners ---

struct Listener {
  std::string name;
  std::string address = "0.0.0.0";
  uint16_t port = 0;                           // 0: the system picks one (tests)
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
  std::string tls_cert_path = {};              // "": plain HTTP
  std::string tls_key_path = {};
};

/// How the router's own models compute: see engine::Precision.
enum class ModelDtype : uint8_t { kI8, kBF16, kF32 };

/// Bounds of the HTTP server. `global.services.http` of the file; the key is ours, upstream leaves
/// this to Envoy.
struct HttpLimits {
  uint32_t header_bytes_max = 32 << 10;
  uint64_t body_bytes_max = 32 << 20;
  std::chrono::milliseconds header_timeout{
      10'000};  // from the first byte of a request to the end of its header
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};    // between requests on a kept connection
  std::chrono::milliseconds connect_timeout{3'000};  // to an upstream
  uint32_t connections_max = 10'000;
  uint32_t threads = 0;                        // event loops; 0: one a processor
  uint32_t reply_header_bytes_max = 64 << 10;  // of an upstream
  uint32_t upstream_idle_max = 64;             // kept connections to one upstream, a loop
  std::chrono::milliseconds upstream_idle_timeout{30'000};
  uint32_t model_threads = 0;                // that run the router's own models; 0: one a processor
  uint32_t model_queue_max = 256;            // requests that wait for one
  ModelDtype model_dtype = ModelDtype::kI8;  // of matrices that a file does not hold packed
  std::chrono::milliseconds decision_timeout{10'000};  // for models to say what a request is
  std::chrono::milliseconds guard_wait{
      500};                             // for what a stream has said to be checked, at its end
  uint64_t bodies_bytes_max = 1 << 30;  // of all requests that are being answered
  std::chrono::milliseconds drain_timeout{10'000};  // for requests in flight at the end
};

/// Envoy's external processing over gRPC: Envoy brings requests and replies, and calls the servers.
/// `global.services.ext_proc`; the key is ours, upstream takes a flag. Not by default for other
/// machines: who may ask is told the keys of the models' servers.
struct ExtProc {
  bool enabled = false;
  std::string address = "127.0.0.1";
  uint16_t port = 50051;                       // 0: the system picks one (tests)
  uint32_t streams_max = 10'000;               // requests of Envoy's at a time
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
  std::string tls_cert_path;                   // "": in the clear
  std::string tls_key_path;
  std::string tls_client_ca_path;  // "": Envoy needs no certificate
};

/// Where models and routes come from with `global.router.config_source: kubernetes`: two resources
/// of an API server, or of files. `global.services.kubernetes`; the key is ours.
struct Kubernetes {
  std::string files;           // a folder of such resources, instead of a server; "": a server
  std::string server;          // its URL; "": the one that a pod's environment names
  std::string namespace_name;  // "": the pod's own
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";  // a folder
  std::chrono::milliseconds debounce{500};        // of changes, which come in pairs
  std::chrono::milliseconds wait_at_start{5000};  // for the first ones, before it is ready
  bool write_status = true;                       // into the resources: what became of them
};

struct ManagementApi {
  struct Token {
    std::string env;  // environment variable that holds it
    std::string role;
  };
  struct Auth {
    std::string mode = "disabled";
    std::vector<Token> tokens;
    std::map<std::string, std::vector<std::string>> roles;  // what each may do
  };
  bool enabled = true;
  std::string bind_address = "127.0.0.1";
  uint16_t port = 8080;
  bool remote_exposure = false;
  std::vector<std::string> allowed_hosts;  // names by which it may be asked, besides its address
  std::string tls_cert_path;               // "": plain HTTP
  std::string tls_key_path;
  Auth auth;
};

struct Config {
  std::string source;  // the file it came from, for messages
  std::vector<Listener> listeners;
  Providers providers;
  Routing routing;
  std::vector<Recipe> recipes;
  std::vector<Entrypoint> entrypoints;
  std::string setup;  // JSON; of other tools
  std::vector<std::string> auto_model_names{"auto", "vllm-sr/auto", "MoM"};

  // global.router
  RouterSettings router;
  // global.services
  HttpLimits http;
  ExtProc ext_proc;
  Kubernetes kubernetes;
  ManagementApi management;
  ClassificationApi api;
  ResponseApi response_api;
  Observability observability;
  Authz authz;
  RateLimit ratelimit;
  StartupStatus startup_status;
  RouterReplay router_replay;
  // global.stores
  ResponseCacheStore response_cache;
  MemoryStore memory;
  VectorStore vector_store;
  ContextStore contexts;
  // global.integrations
  ToolsIntegration tools;
  Looper looper;
  // global.model_catalog
  EmbeddingModel embedding_model;
  SystemModels system_models;
  std::vector<ExternalModel> external_models;
  std::vector<KnowledgeBase> kbs;
  Modules modules;
};

/// Whether models and routes come from Kubernetes.
bool follows_kubernetes(const Config& config);

/// The routing at the top of the file, then those of its recipes.
std::vector<const Routing*> routings_of(const Config& config);

}  // namespace signalbox::config
