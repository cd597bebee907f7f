#pragma once
// A decision's `algorithm` as structs: how to choose one of several models, or how to combine the
// replies of several. `global.router.model_selection` also has the blocks of algorithms that
// choose.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/signals.h"

namespace signalbox::config {

// --- algorithms that choose one model ---

struct RouterDc {
  double temperature = 0.07;
  uint32_t dimension_size = 0;  // 0: the embedding model's own
  double min_similarity = 0.3;
  bool use_query_contrastive = false;
  bool use_model_contrastive = false;
  bool require_descriptions = false;
  bool use_capabilities = true;
};

struct AutoMix {
  double verification_threshold = 0.7;
  uint32_t max_escalations = 2;
  bool cost_aware_routing = true;
  double cost_quality_tradeoff = 0.3;
  double discount_factor = 0.95;
  bool use_logprob_verification = true;
  bool enable_self_verification = false;
  bool enable_cascade = false;  // verify replies and escalate, instead of choosing one model
};

struct HybridSelection {
  double experience_weight = 0.3;
  double router_dc_weight = 0.3;
  double automix_weight = 0.2;
  double cost_weight = 0.2;
  double quality_gap_threshold = 0.1;
  bool normalize_scores = true;
};

struct LatencyAware {
  uint32_t tpot_percentile = 0;  // 0: not compared
  uint32_t ttft_percentile = 0;
  std::string description;
};

struct MultiFactor {
  struct Weights {
    double quality = 0.25;
    double latency = 0.25;
    double cost = 0.25;
    double load = 0.25;
  };
  struct Slo {  // 0: no bound
    double max_tpot_ms = 0;
    double max_ttft_ms = 0;
    double max_cost_per_1m = 0;
    uint32_t max_inflight = 0;
  };
  enum class OnNoCandidates { kCheapest, kFirst, kFail };
  Weights weights;
  Slo slo;
  uint32_t latency_percentile = 95;
  OnNoCandidates on_no_candidates = OnNoCandidates::kCheapest;
};

struct PromptSelection {
  std::string model;
  std::string instructions;
  uint32_t timeout_seconds = 0;
};

/// A pretrained selector: knn, kmeans, svm or mlp, each with its own keys.
struct MlSelector {
  uint32_t k = 0;
  uint32_t num_clusters = 0;
  double efficiency_weight = 0;
  std::string kernel;
  double gamma = 0;
  std::string device;
  std::string pretrained_path;
};

// --- algorithms that call several models ---

struct ConfidenceCascade {
  struct HybridWeights {
    double logprob_weight = 0.5;
    double margin_weight = 0.5;
  };
  std::string confidence_method;
  double threshold = 0;
  HybridWeights hybrid_weights;
  std::string on_error;
  std::string escalation_order;
  double cost_quality_tradeoff = 0;
  std::string token_filter;
  std::string verifier_server_url;
  uint32_t verifier_timeout_seconds = 0;
};

struct Ratings {
  uint32_t max_concurrent = 0;
  std::string on_error;
};

struct Remom {
  std::vector<double> breadth_schedule;
  std::string model_distribution;
  double temperature = 1;
  bool include_reasoning = false;
  std::string compaction_strategy;
  uint32_t compaction_tokens = 1000;
  std::string synthesis_template;
  std::string synthesis_model;
  uint32_t max_concurrent = 0;
  uint32_t max_completion_tokens = 0;
  uint32_t round_timeout_seconds = 0;
  uint32_t min_successful_responses = 0;
  std::string on_error;
  int64_t shuffle_seed = 42;
  bool include_intermediate_responses = true;
  uint32_t max_responses_per_round = 0;
};

struct Fusion {
  struct Override {
    std::string model;
    std::optional<double> temperature;
    uint32_t max_completion_tokens = 0;
  };
  struct Grounding {
    bool enabled = false;
    std::string reference;
    std::string policy;
    double min_score = 0;
    uint32_t min_keep = 1;
    double nli_contradiction_penalty = 1;
    std::string on_error;
  };
  std::string model;  // the judge
  std::vector<std::string> analysis_models;
  std::vector<Override> analysis_overrides;
  std::string analysis_mode;
  uint32_t max_concurrent = 0;
  uint32_t max_completion_tokens = 0;
  uint32_t round_timeout_seconds = 0;
  uint32_t min_successful_responses = 0;
  std::optional<double> temperature;
  bool include_analysis = true;
  bool include_intermediate_responses = true;
  std::string on_error;
  std::string analysis_template;
  std::string synthesis_template;
  std::string judge_prompt_version;
  std::string quorum_failure_policy;
  std::string quorum_fallback_target;  // "": none
  Grounding grounding;

  /// True if another model answers for a panel with too few replies.
  bool falls_back() const { return quorum_failure_policy == "fallback"; }
};

struct Workflows {
  struct Planner {
    std::string model;
    uint32_t max_completion_tokens = 2048;
    std::optional<double> temperature;
    uint32_t timeout_seconds = 0;
  };
  std::string mode;
  std::string planner_template;  // `template`
  Planner planner;
  std::string roles;  // JSON; for mode static
  std::string final_step;
  uint32_t max_steps = 3;
  uint32_t max_parallel = 2;
  uint32_t max_completion_tokens = 0;
  uint32_t round_timeout_seconds = 0;
  uint32_t min_successful_responses = 0;
  std::optional<double> temperature;
  bool include_intermediate_responses = true;
  std::string on_error;
};

// --- models that answer the questions of a System One request, in turn ---

/// A bound on one figure of the answers to these questions.
struct AnswerRule {
  std::string question;              // "": every question
  std::string question_type;         // "": every type
  std::optional<std::string> state;  // nullopt: every state; "": that of the request itself
  std::string field;
  Predicate predicate;
};

/// All rules must hold.
struct Acceptance {
  std::vector<AnswerRule> rules;
};

struct AnswerQuality {
  std::string type;
  Acceptance acceptance;
};

struct Stage {
  struct Generation {
    uint32_t max_output_tokens = 0;
  };
  std::string name;
  std::string kind;  // native, judge
  std::string model;
  bool enabled = true;
  std::chrono::milliseconds timeout{0};  // 0: none of its own
  std::optional<Acceptance> accept;
  Generation generation;     // of a judge
  std::string instructions;  // of a judge
};

/// Bounds on the calls that an algorithm makes for one request. 0: the bound of
/// global.integrations.looper, and there: no bound. Signalbox only.
struct LoopBudget {
  uint32_t max_calls = 0;
  uint64_t max_tokens = 0;  // of prompts and replies together
  double max_cost = 0;      // at the models' prices
  uint32_t max_seconds = 0;
  std::chrono::milliseconds deadline{0};  // the same, more exactly; it precedes max_seconds
  bool operator==(const LoopBudget&) const = default;
};

struct Algorithm {
  std::string type = "static";  // in lower case
  std::string on_error;
  uint32_t minimum_candidates = 0;  // models that must be able to serve the request
  std::optional<RouterDc> router_dc;
  std::optional<AutoMix> automix;
  std::optional<HybridSelection> hybrid;
  std::optional<LatencyAware> latency_aware;
  std::optional<MultiFactor> multi_factor;
  std::optional<PromptSelection> prompt;
  std::optional<MlSelector> knn, kmeans, svm, mlp;
  std::optional<ConfidenceCascade> confidence;
  std::optional<Ratings> ratings;
  std::optional<Remom> remom;
  std::optional<Fusion> fusion;
  std::optional<Workflows> workflows;
  AnswerQuality quality;      // with stages
  std::vector<Stage> stages;  // for the type cascade
  LoopBudget budget;

  /// True if the models answer questions of System One, and no chats.
  bool is_native() const { return type == "cascade"; }
};

/// True if the algorithm calls several models instead of choosing one, for a decision with this
/// number of models. A cascade or a comparison of a single model calls just that model.
bool calls_several(const Algorithm& algorithm, size_t models);

}  // namespace signalbox::config
