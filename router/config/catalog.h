#pragma once
// `global.model_catalog` as structs: the models that classify requests, and their tasks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "router/config/plugins.h"
#include "router/config/signals.h"

namespace signalbox::config {

struct EmbeddingEndpoint {
  std::string base_url;
  std::string model;
  std::string api_key_env;
  uint32_t timeout_seconds = 0;
  uint32_t max_retries = 0;
  uint32_t dimensions = 0;
};

struct EmbeddingModel {
  std::string path = "models/minilm";          // directory of the model that embeds
  std::string path_key = "minilm_model_path";  // the key that names it
  double soft_threshold = 0.5;                 // min_score_threshold
  bool soft_matching = true;                   // enable_soft_matching
  uint32_t top_k = 1;                          // 0: every signal over its threshold matches
  std::string mmbert_model_path = {};
  std::string bert_model_path = {};
  std::string qwen3_model_path = {};
  std::string gemma_model_path = {};
  std::string multimodal_model_path = {};
  bool use_cpu = true;
  std::string backend = {};
  std::string model_type = {};
  bool preload_embeddings = false;
  uint32_t target_dimension = 0;  // 0: the model's own
  uint32_t target_layer = 0;      // 0: the last
  PrototypeScoring prototype_scoring = {};
  std::optional<EmbeddingEndpoint> endpoint = {};
  std::optional<double> similarity_exponent = {};
  /// The thresholds of the file were chosen for another embedding model, whose similarities are
  /// higher than those of ours.
  bool has_foreign_thresholds = false;

  /// Returns the exponent of a cosine before it is compared with a threshold of examples, and the
  /// one for thresholds of a repeated text. docs/signals.md describes how they were found.
  double exponent() const { return similarity_exponent.value_or(has_foreign_thresholds ? 0.4 : 1); }
  double exponent_of_repetition() const {
    return similarity_exponent.value_or(has_foreign_thresholds ? 0.68 : 1);
  }

  /// Returns whether a server embeds the texts; `backend` may select a model here instead.
  bool is_remote() const {
    const bool is_here = backend == "candle" || backend == "onnx" || backend == "openvino";
    return endpoint && !endpoint->base_url.empty() && !is_here;
  }
};

/// The reaction to a classifier whose directory does not exist: an error if a decision depends on
/// it; a head of ours for the same task, and the error only if there is none; or none at all.
enum class MissingModels : uint8_t { kFail, kStandIn, kIgnore };

/// Model directories by task; modules name one by `model_ref`. The defaults are the Semantic
/// Router's.
struct SystemModels {
  std::string prompt_guard = "models/mmbert32k-jailbreak-detector-merged";
  std::string domain_classifier = "models/mmbert32k-intent-classifier-merged";
  std::string pii_classifier = "models/mmbert32k-pii-detector-merged";
  std::string fact_check_classifier = "models/mmbert32k-factcheck-classifier-merged";
  std::string hallucination_detector = "models/mom-halugate-detector";
  std::string hallucination_explainer = "models/mom-halugate-explainer";
  std::string feedback_detector = "models/mmbert32k-feedback-detector-merged";
  std::string safety = "models/safety";
  std::string reranker = {};             // of the rerank API; this project's own key
  std::string decision_deployment = {};  // answers questions that name none; "": nobody does
};

/// Where a model that classifies requests runs.
struct ModelDeployment {
  std::string provider;        // "http": a server
  std::string artifact;        // a model here
  std::string external_model;  // name of an ExternalModel
  std::string endpoint;        // a server of the Semantic Router's models, which is not called
  uint32_t line = 0;
};

/// A model on another server that classifies or guards.
struct ExternalModel {
  struct Endpoint {
    std::string name;
    std::string address;
    uint16_t port = 0;
    std::string protocol;
    std::string path;  // "": that of the API
    bool use_chat_template = false;
    std::string prompt_template;
  };
  std::string name;
  std::string llm_provider;
  std::string model_role;
  Endpoint llm_endpoint;
  std::string llm_model_name;
  uint32_t llm_timeout_seconds = 0;
  std::string parser_type;
  double threshold = 0;
  std::string access_key;
  uint32_t max_tokens = 0;
  double temperature = 0;
};

/// Labels with examples, in groups.
struct KnowledgeBase {
  struct Source {
    std::string path;
    std::string manifest;
  };
  struct Metric {
    std::string name;
    std::string type;  // group_margin
    std::string positive_group;
    std::string negative_group;
  };
  std::string name;
  Source source;
  double threshold = 0;  // 0: the manifest's; empty containers below, too
  PrototypeScoring prototype_scoring;
  std::map<std::string, double> label_thresholds;
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<Metric> metrics;
};

// --- modules ---

struct McpClassifier {
  bool enabled = false;
  std::string transport_type;
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string url;
  std::string tool_name;
  double threshold = 0;
  uint32_t timeout_seconds = 0;
};

struct PreferenceModel {
  bool use_contrastive = true;
  std::string embedding_model;
  PrototypeScoring prototype_scoring;
};

struct PromptCompression {
  bool enabled = false;
  std::string profile = "default";
  uint32_t max_tokens = 512;
  uint32_t min_length = 0;
  std::vector<std::string> skip_signals;
  std::optional<double> textrank_weight;  // nullopt: the profile's, here and below
  std::optional<double> position_weight;
  std::optional<double> tfidf_weight;
  std::optional<double> novelty_weight;
  std::optional<double> position_depth;
  std::optional<uint32_t> preserve_first_n;
  std::optional<uint32_t> preserve_last_n;
};

struct HallucinationDetector {
  ClassifierModel model;
  std::string backend;
  std::string endpoint;
  bool include_explanation = false;
  uint32_t min_span_length = 2;
  double min_span_confidence = 0.6;
  uint32_t context_window_size = 0;
  bool enable_nli_filtering = false;
  double nli_entailment_threshold = 0.75;
};

struct HallucinationMitigation {
  bool enabled = false;
  std::string on_hallucination_detected;
  ClassifierModel fact_check;
  HallucinationDetector detector;
  ClassifierModel explainer;
};

struct ComplexityModule {
  PrototypeScoring prototype_scoring;
  ClassifierModel server;  // rates the requests in place of examples, if calls_server()

  /// Returns whether the server returns a number instead of a level.
  bool is_scored() const { return server.calls_server() && server.contract == kScoreContract; }
};

struct ClassifierModules {
  ClassifierModel domain;
  ClassifierModel pii;
  McpClassifier mcp;
  PreferenceModel preference;
};

struct Modules {
  PromptCompression prompt_compression;
  ClassifierModel prompt_guard;
  ClassifierModules classifier;
  ComplexityModule complexity;
  HallucinationMitigation hallucination_mitigation;
  ClassifierModel feedback_detector;
  ModalityDetection modality_detector;
  ClassifierModel safety;
};

}  // namespace signalbox::config
