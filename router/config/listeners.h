#pragma once
// The ports of the process and their limits as structs: `listeners`, and from `global.services`
// `http`, `ext_proc`, `kubernetes` and `management_api`.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace signalbox::config {

struct Listener {
  std::string name;
  std::string address = "127.0.0.1";
  uint16_t port = 0;                           // 0: the system picks one (tests)
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
  std::string tls_cert_path = {};              // "": plain HTTP
  std::string tls_key_path = {};
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

}  // namespace signalbox::config
