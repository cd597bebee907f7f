#pragma once
// A decision's `plugins` as structs: changes to a request and its reply. A decision has at most one
// plugin of a type. Their order in the file has no meaning; the router runs them in a fixed order.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/providers.h"

namespace signalbox::config {

/// Variants that are a model on a server.
inline constexpr std::string_view kHttpClassify = "http_classify", kHttpChat = "http_chat",
                                  kExternalHook = "external";
/// The form of a chat model's replies as a classifier.
inline constexpr std::string_view kLabelDecision = "label_decision.v1";

/// Form of a reply that is a number without bounds.
inline constexpr std::string_view kScoreContract = "score.v1";

/// Settings of a classifier. Each module uses a part of them.
struct ClassifierModel {
  enum class OnError { kAllow, kBlock };
  enum class OnUnread : uint8_t { kRefuse, kJudge };
  bool enabled = true;
  std::string model_ref;  // a key of SystemModels
  std::string model_id;   // or a directory
  double threshold = 0;   // 0: the module's default
  bool use_cpu = true;
  bool use_modernbert = false;
  bool use_mmbert_32k = false;
  std::string variant;
  std::string server;        // name of one of global.model_catalog.external, from `backend`
  std::string contract;      // form of the server's reply, from `backend`
  uint32_t deadline_ms = 0;  // of a call to the server; 0: llm_timeout_seconds
  std::string circuit_breaker;
  bool calls_server() const {
    return variant == kHttpClassify || variant == kHttpChat || variant == kExternalHook;
  }
  std::string mapping_path;  // file of the classes by number
  std::string fallback_category;
  std::vector<std::string> positive_labels;
  std::optional<OnError> on_error;  // nullopt: block where a decision blocks
  uint32_t windows_max = 1536;      // of one request, without repeated ones
  OnUnread on_unread = OnUnread::kRefuse;
  bool screen = true;  // the model's screen may clear windows of long texts
};

struct SystemPromptPlugin {
  enum class Mode { kReplace, kInsert };
  bool enabled = true;
  Mode mode = Mode::kReplace;
  std::string system_prompt;
};

inline constexpr std::string_view kCachedInstructions = "instructions", kCachedTools = "tools";

/// Marks for the prompt cache of a server with Anthropic's API.
struct PromptCachePlugin {
  enum class OnUnsupported : uint8_t { kSkip, kReject };
  bool enabled = false;
  std::string ttl = "5m";  // or "1h"
  std::vector<std::string> targets{std::string(kCachedInstructions), std::string(kCachedTools)};
  OnUnsupported on_unsupported = OnUnsupported::kSkip;
};

struct FastResponsePlugin {
  std::string message;
};

struct HeaderMutationPlugin {
  struct Pair {
    std::string name;
    std::string value;
  };
  std::vector<Pair> add;
  std::vector<Pair> update;
  std::vector<std::string> remove;  // `delete`
};

struct RequestParamsPlugin {
  std::vector<std::string> blocked_params;
  std::optional<uint32_t> max_tokens_limit;
  std::optional<uint32_t> max_n;
  bool strip_unknown = false;
};

/// Signalbox only. The server gets placeholders instead of personal data, and the client gets the
/// original back.
struct PiiMaskPlugin {
  enum class OnError { kRefuse, kRules };
  bool enabled = true;
  std::vector<std::string> types;  // empty: all
  double threshold = 0;            // 0: the classifier's threshold
  OnError on_error = OnError::kRefuse;
};

/// Control of a plugin by a client's header, and its limits.
struct RequestControls {
  bool enabled = false;
  std::string header;
  std::vector<std::string> allowed;
  uint32_t max_ttl_seconds = 0;
  uint32_t max_target_tokens = 0;
};

struct ResponseCachePlugin {
  enum class Mode { kSemantic, kExact, kExactThenSemantic };
  struct Semantic {
    std::optional<double> similarity_threshold;
  };
  struct Personalized {
    std::string mode;
  };
  struct Revision {  // any change starts an empty cache
    std::string cache_epoch;
    std::string model_revision;
    std::string prompt_revision;
    std::string policy_revision;
  };
  bool enabled = true;
  Mode mode = Mode::kSemantic;
  std::string scope;
  Semantic semantic;
  std::optional<uint32_t> ttl_seconds;
  RequestControls request_controls;
  Personalized personalized;
  Revision revision;
};

struct ContextCompressionPlugin {
  struct Budget {  // nullopt: "auto"
    std::optional<uint32_t> trigger_tokens;
    std::optional<uint32_t> target_tokens;
    std::optional<uint32_t> reserve_output_tokens;
  };
  struct Target {
    std::string mode;  // extractive, preserve or recoverable; "": the default of the target
    uint32_t min_tokens = 0;
    uint32_t target_tokens = 0;
  };
  struct Targets {
    Target tool_outputs;
    Target history;
    Target rag;
    Target memory;
  };
  struct Scoring {
    std::string method = "bm25";
    std::string embedding_model_ref;
  };
  struct Recovery {
    bool enabled = false;
    std::string store;
    uint32_t ttl_seconds = 0;
    uint64_t max_bytes_per_request = 0;
    uint64_t max_total_bytes = 0;
    uint32_t max_retrievals = 0;
  };
  bool enabled = true;
  std::string mode = "auto";
  Budget budget;
  Targets targets;
  Scoring scoring;
  Recovery recovery;
  RequestControls request_controls;
  std::string failure_mode = "fail_open";
};

struct ToolsPlugin {
  enum class Mode { kPassthrough, kNone, kFiltered };
  bool enabled = true;
  Mode mode = Mode::kPassthrough;
  bool semantic_selection = false;
  std::vector<std::string> allow_tools;
  std::vector<std::string> block_tools;
  bool strip_tool_history = false;
};

/// How to rank tools for a request. `global.integrations.tools` has it, too.
struct ToolFiltering {
  struct Weights {
    double embed = 0, lexical = 0, tag = 0, name = 0, category = 0;
  };
  struct History {
    uint32_t history_horizon = 0;
    uint32_t min_history_steps = 0;
    double history_confidence_threshold = 0;
    double weight_semantic = 0;
    double weight_history_transition = 0;
    double weight_decision_prior = 0;
    double repetition_penalty_strength = 0;
  };
  bool enabled = false;
  std::string retrieval_strategy;
  uint32_t candidate_pool_size = 0;
  uint32_t min_lexical_overlap = 0;
  double min_combined_score = 0;
  Weights weights;
  bool use_category_filter = false;
  double category_confidence_threshold = 0;
  std::vector<std::string> allow_tools;
  std::vector<std::string> block_tools;
  History hybrid_history;
};

struct ToolSelectionPlugin {
  enum class Mode { kAdd, kFilter };
  bool enabled = true;
  Mode mode = Mode::kAdd;
  std::string tools_db_path;
  uint32_t top_k = 3;
  double similarity_threshold = 0;
  double relevance_threshold = 0;
  uint32_t preserve_count = 0;
  std::string strategy;
  bool fallback_to_empty = false;
  ToolFiltering advanced_filtering;
};

struct HallucinationPlugin {
  enum class Action { kHeader, kBody, kBlock, kNone };  // kBlock: Signalbox only
  bool enabled = true;
  bool use_nli = false;
  Action hallucination_action = Action::kHeader;
  Action unverified_factual_action = Action::kHeader;
  bool include_hallucination_details = false;
};

struct ResponseJailbreakPlugin {
  enum class Action { kHeader, kBlock, kNone };
  bool enabled = true;
  double threshold = 0;
  Action action = Action::kHeader;
};

struct RouterReplayPlugin {
  bool enabled = true;
  uint32_t max_records = 0;
  bool capture_request_body = false;
  bool capture_response_body = false;
  bool capture_personal_data = true;
  std::optional<uint32_t> body_ttl_seconds;  // Signalbox only; nullopt: as for all decisions
  uint64_t max_body_bytes = 0;               // 0: no limit, here and below
  uint64_t max_tool_trace_bytes = 0;
  uint32_t max_tool_trace_steps = 0;
};

/// A share of the requests also goes to other models, whose answers no client gets.
struct ShadowDispatchPlugin {
  struct Arm {
    std::string name;
    std::string model;
    std::string role;
    std::chrono::milliseconds timeout{30'000};
  };
  /// The limits of calls hold for all decisions together.
  struct Limits {
    uint32_t max_concurrent_shadow = 16;
    uint32_t max_calls_per_minute = 60;  // 0: no limit
    uint64_t max_request_bytes = 1 << 20;
    uint64_t max_response_bytes = 64 << 10;  // of the text of an answer
    uint32_t queue_depth = 0;
  };
  struct Comparison {
    double similarity_threshold = 0.8;
    std::string judge;  // a model of global.model_catalog.external; "": none
  };
  struct Capture {
    bool request_body = false;
    bool response_body = false;
    std::string redaction;
  };
  bool is_on() const { return enabled && sample_rate > 0; }

  bool enabled = true;
  double sample_rate = 0.05;
  Arm only;  // as written; it is the only one of `arms` once they are read
  bool skip_cached = true;
  std::vector<Arm> arms;
  Limits limits;
  Comparison comparison;
  Capture capture;
};

/// Selection of memories. `global.stores.memory` has it, too.
struct MemoryReflection {
  std::optional<bool> enabled;
  std::string algorithm;  // "": heuristic
  std::optional<uint32_t> max_inject_tokens;
  std::optional<uint32_t> recency_decay_days;
  std::optional<double> dedup_threshold;
  std::vector<std::string> block_patterns;
};

struct MemoryPlugin {
  bool enabled = true;
  std::optional<uint32_t> retrieval_limit;
  std::optional<double> similarity_threshold;
  std::optional<bool> auto_store;
  std::optional<bool> hybrid_search;
  std::string hybrid_mode;  // "": the store's
  MemoryReflection reflection;
};

/// The source of documents: the keys of all backends together. Each backend reads some of them.
struct RagBackend {
  std::string collection;  // milvus, qdrant
  bool reuse_cache_connection = false;
  std::string content_field;
  std::string metadata_field;
  std::string filter_expression;
  std::string endpoint;  // external_api
  std::string api_key;
  std::string auth_header;
  std::string request_format;
  std::string request_template;
  std::map<std::string, std::string> headers;
  std::string server_name;  // mcp
  std::string tool_name;
  std::string tool_arguments;  // JSON with ${user_content} and the like
  std::string base_url;        // openai
  std::string vector_store_id;
  std::vector<std::string> file_ids;
  std::string filter;  // JSON
  uint32_t max_num_results = 0;
  std::string workflow_mode;
  bool hybrid_search = false;  // vectorstore
  std::string hybrid_mode;     // "": rrf
  std::string primary;         // hybrid: the names of two backends, and the keys of each
  std::string fallback;
  std::string strategy;
  std::vector<RagBackend> primary_config;  // at most one, like fallback_config
  std::vector<RagBackend> fallback_config;
  uint32_t timeout_seconds = 0;
  uint64_t max_response_bytes = 0;  // 0: the default
};

struct RagPlugin {
  bool enabled = true;
  std::string backend;  // milvus, qdrant, external_api, mcp, openai, vectorstore or hybrid
  double similarity_threshold = 0;
  uint32_t top_k = 0;
  uint64_t max_context_length = 0;
  std::string injection_mode;  // tool_role or system_prompt
  std::string on_failure;      // skip, warn or block
  bool cache_results = false;
  uint32_t cache_ttl_seconds = 0;
  double min_confidence_threshold = 0;
  RagBackend backend_config;
  /// A model puts the documents into the order of their relevance.
  struct Rerank {
    uint32_t top_k = 0;  // documents that are kept; 0: all
  };
  std::optional<Rerank> rerank;
};

/// True if the router can search the plugin's backend.
bool is_built(const RagPlugin& plugin);
/// True if a backend of the plugin compares embeddings.
bool compares_vectors(const RagPlugin& plugin);

/// How to detect requests for an image.
struct ModalityDetection {
  bool enabled = true;
  std::string method;  // classifier, keyword or hybrid
  ClassifierModel classifier;
  std::vector<std::string> keywords;
  std::vector<std::string> both_keywords;
  std::vector<std::string> prompt_prefixes;
  double confidence_threshold = 0;
  double lower_threshold_ratio = 0;
};

/// An image server answers instead of the decision's model.
struct ImageGenPlugin {
  struct Backend {
    std::string base_url;  // openai: "" is OpenAI's
    std::string model;
    std::string api_key;
    std::string quality;
    std::string style;
    uint32_t num_inference_steps = 0;  // vllm_omni
    double cfg_scale = 0;
    std::optional<int64_t> seed;
  };
  bool enabled = true;
  std::string backend;  // openai or vllm_omni
  Backend backend_config;
  std::optional<ModalityDetection> modality_detection;
  uint32_t default_width = 0;        // 0: 1024
  uint32_t default_height = 0;       // 0: 1024
  uint32_t max_inference_steps = 0;  // 0: no limit
  uint32_t timeout_seconds = 0;      // 0: 60 for openai, 120 for vllm_omni
  Model server;                      // follows from the others; no client can name it
};

struct Plugins {
  std::optional<SystemPromptPlugin> system_prompt;
  std::optional<FastResponsePlugin> fast_response;
  std::optional<HeaderMutationPlugin> header_mutation;
  std::optional<PromptCachePlugin> prompt_cache;
  std::optional<RequestParamsPlugin> request_params;
  std::optional<PiiMaskPlugin> pii_mask;
  std::optional<ResponseCachePlugin> response_cache;
  std::optional<ContextCompressionPlugin> context_compression;
  std::optional<ToolsPlugin> tools;
  std::optional<ToolSelectionPlugin> tool_selection;
  std::optional<HallucinationPlugin> hallucination;
  std::optional<ResponseJailbreakPlugin> response_jailbreak;
  std::optional<RouterReplayPlugin> router_replay;
  std::optional<ShadowDispatchPlugin> shadow_dispatch;
  std::optional<MemoryPlugin> memory;
  std::optional<RagPlugin> rag;
  std::optional<ImageGenPlugin> image_gen;
};

}  // namespace signalbox::config
