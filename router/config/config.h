#pragma once
// The configuration as the program uses it: plain structs with defaults, filled by config/load from
// a v0.3 file of the vLLM Semantic Router. Only what is built stands here; what a file names beyond
// that is reported by load().

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::config {

// --- listeners ---

struct Listener {
  std::string name;
  std::string address = "0.0.0.0";
  uint16_t port = 0;                           // 0: the system picks one (tests)
  std::chrono::milliseconds timeout{300'000};  // of a whole request, reply included
};

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
  uint32_t model_threads = 0;      // that run the router's own models; 0: one a processor
  uint32_t model_queue_max = 256;  // requests that wait for one; the next gets 429
  std::chrono::milliseconds drain_timeout{10'000};  // for requests in flight at the end
};

struct ManagementApi {
  bool enabled = true;
  std::string bind_address = "127.0.0.1";
  uint16_t port = 8080;
};

// --- providers ---

struct ReasoningFamily {
  enum class Type { kChatTemplateKwargs, kReasoningEffort, kTopLevelReasoningEffort };
  Type type = Type::kChatTemplateKwargs;
  std::string parameter;
};

struct BackendRef {
  std::string name;
  std::string type = "vllm";  // "echo" is the built-in one and needs no address
  std::string host;           // from `endpoint: host:port` or `base_url`
  uint16_t port = 0;
  bool tls = false;         // protocol https or an https base_url
  std::string path_prefix;  // of base_url, without the "/v1" that requests bring: "" or "/api"
  std::string api_key_env;  // environment variable with the key; "": none
  std::string auth_header = "Authorization";
  std::string auth_prefix = "Bearer";
  uint32_t weight = 1;
};

struct Model {
  std::string name;
  std::string provider_model_id;         // what the upstream is asked for; defaults to name
  std::string reasoning_family;          // "": none
  std::vector<BackendRef> backend_refs;  // at least one
};

struct Providers {
  std::string default_model;
  std::string default_reasoning_effort = "medium";
  std::map<std::string, ReasoningFamily> reasoning_families;
  std::vector<Model> models;

  const Model* find(std::string_view name) const;
};

// --- routing ---

struct KeywordSignal {
  enum class Operator { kAnd, kOr, kNor };
  std::string name;
  Operator op = Operator::kOr;
  std::vector<std::string> keywords;
  bool case_sensitive = false;
};

struct EmbeddingSignal {
  enum class Aggregation { kMean, kMax, kAny };
  std::string name;
  double threshold = 0.8;
  std::vector<std::string> candidates;
  Aggregation aggregation = Aggregation::kMax;
};

/// A node of a decision's rules, as written. `type` and `name` for a leaf, `op` and `conditions`
/// otherwise.
struct Rule {
  enum class Operator { kLeaf, kAnd, kOr, kNot };
  Operator op = Operator::kAnd;
  std::string type;
  std::string name;
  std::vector<Rule> conditions;
  uint32_t line = 0;
};

struct ModelRef {
  std::string model;
  std::optional<bool> use_reasoning;
  std::string reasoning_effort;  // "": providers.defaults
};

struct SystemPromptPlugin {
  enum class Mode { kReplace, kInsert };
  bool enabled = true;
  Mode mode = Mode::kReplace;
  std::string system_prompt;
};

struct Decision {
  std::string name;
  std::string description;
  int32_t priority = 0;
  Rule rules;  // an AND of nothing: always matches, with confidence 0
  std::vector<ModelRef> model_refs;
  std::optional<SystemPromptPlugin> system_prompt;
  /// Plugins the file gives this decision that are not built and would change what is sent or
  /// refused (fast_response, ...). A request that meets such a decision is refused, never passed on
  /// without them.
  std::vector<std::string> missing_plugins;
  uint32_t line = 0;
};

struct Routing {
  enum class Strategy { kPriority, kConfidence };
  Strategy strategy = Strategy::kPriority;
  std::vector<KeywordSignal> keywords;
  std::vector<EmbeddingSignal> embeddings;
  std::vector<Decision> decisions;
};

// --- global ---

struct EmbeddingModel {
  std::string path = "models/minilm";  // a model directory
  double soft_threshold = 0.5;         // min_score_threshold
  bool soft_matching = false;          // enable_soft_matching
  int32_t top_k = 1;                   // 0: every signal over its threshold matches
};

struct Config {
  std::string source;  // the file it came from, for messages
  std::vector<Listener> listeners;
  Providers providers;
  Routing routing;
  std::vector<std::string> auto_model_names{"auto", "vllm-sr/auto", "MoM"};
  HttpLimits http;
  ManagementApi management;
  EmbeddingModel embedding_model;
};

}  // namespace signalbox::config
