#pragma once
// `routing` as structs: which model answers which request. A file has one routing at its top and
// one in each recipe.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/algorithm.h"
#include "router/config/plugins.h"
#include "router/config/signals.h"

namespace signalbox::config {

/// Properties of a model, for algorithms and for people.
struct ModelCard {
  struct Lora {
    std::string name;
    std::string description;
  };
  std::string name;
  std::string param_size;
  uint64_t context_window_size = 0;
  std::string description;
  std::vector<std::string> capabilities;
  std::optional<double> quality_score;
  std::string modality;
  std::vector<std::string> tags;
  std::vector<Lora> loras;
};

struct ModelRef {
  std::string model;
  std::string lora_name;
  std::optional<double> weight;
  std::optional<bool> use_reasoning;
  std::string reasoning_description;
  std::string reasoning_effort;  // "": providers.defaults
};

/// Settings for requests that meet a condition, such as a degree of difficulty. Signalbox only.
struct DifficultyCase {
  Rule when;
  std::optional<bool> use_reasoning;   // nullopt: the ModelRef's, here and below
  std::string reasoning_effort;        // "": the ModelRef's
  std::optional<uint32_t> max_tokens;  // greatest length of the reply
};

/// Models to try in turn, under a name.
struct CandidateIteration {
  struct Output {
    std::string type;
    std::string value;
  };
  std::string variable;
  std::string source;
  std::vector<ModelRef> models;
  std::vector<Output> outputs;
};

/// The required form of a reply, for algorithms that choose among replies.
struct OutputContract {
  struct Reference {
    std::string source;
    std::string id_format;
  };
  struct Extract {
    std::string mode;
    std::vector<std::string> sources;
  };
  struct Step {
    std::string type;
  };
  std::string type;
  Reference reference;
  Extract extract;
  std::vector<Step> postprocess;
};

/// How global.router.learning may change a decision.
struct Adaptations {
  struct Protection {
    std::string mode;
    std::optional<double> stability_weight;
    std::optional<double> switch_margin;
    std::optional<uint32_t> idle_timeout_seconds;
    std::optional<uint32_t> min_turns_before_switch;
  };
  struct Adaptation {
    std::string mode;
    std::string candidate_set;
  };
  std::string mode;  // "": apply
  Adaptation adaptation;
  Protection protection;
};

/// A decision's requirements for everything that keeps its requests and answers.
struct Emit {
  /// The headers omit a member that is not set.
  struct Retention {
    std::optional<bool> drop;           // the router stores no answer
    std::optional<uint32_t> ttl_turns;  // lifetime of a cached answer; 0: that of the cache
    std::optional<bool> keep_current_model;
    std::optional<bool> prefer_prefix_retention;  // only a header
  };
  std::string kind;
  Retention retention;
};

/// The model that answers the requests of a decision, also those that name another model.
struct RouteAction {
  std::string type;         // route
  std::string destination;  // one of providers.models; "": no action
  bool is_set() const { return !destination.empty(); }
};

struct Decision : Plugins {
  std::string name;
  std::string description;
  int32_t priority = 0;
  int32_t tier = 0;
  std::string output_contract;
  std::optional<OutputContract> output_contract_spec;
  Rule rules;  // default: an empty AND, which always matches, with confidence 0
  std::vector<ModelRef> model_refs;  // begins with the destination of the action
  RouteAction action;
  std::vector<DifficultyCase> difficulty;  // the first match applies
  Algorithm algorithm;
  Adaptations adaptations;
  std::vector<CandidateIteration> candidate_iterations;
  std::vector<Emit> emits;
  /// Plugins of this decision that are not built and without which a request must not be served
  /// (rag, ...). Requests that reach the decision are refused.
  std::vector<std::string> missing_plugins;
  uint32_t line = 0;
};

/// The decision's requirements for everything that keeps its answers; null: none.
const Emit::Retention* retention_of(const Decision& decision);

/// True if the decision has no conditions.
bool always_matches(const Decision& decision);

/// True for the types of signals by which guards judge requests: jailbreak, safety and pii.
bool is_guard_signal(std::string_view type);

/// True if the decision applies to requests that name a model, too: it has an action, or refuses
/// requests (its plugin is fast_response) by a signal of a guard.
bool binds_named_models(const Decision& decision);
/// True if the decision replaces personal data in its requests.
bool masks(const Decision& decision);

/// The types of a decision's plugins.
std::vector<std::string_view> plugin_names(const Decision& decision);

// Signals derived from others: in a partition one of several signals wins, a score is a weighted
// sum of signals, and a mapping divides a score into named ranges.

struct Partition {
  enum class Semantics { kExclusive, kSoftmaxExclusive };
  std::string name;
  Semantics semantics = Semantics::kExclusive;
  double temperature = 1;
  std::vector<std::string> members;  // names of signals, usually embeddings or domains
  std::string fallback;              // `default`: the winner if none matches
};

struct ScoreInput {
  enum class Source { kBinary, kConfidence, kScore, kRaw };
  std::string type;  // type of the signal, or "kb_metric"
  std::string name;
  std::string kb;      // for kb_metric
  std::string metric;  // for kb_metric
  double weight = 1;
  Source value_source = Source::kBinary;
  double match = 1;
  double miss = 0;
};

struct Score {
  std::string name;
  std::string method = "weighted_sum";
  std::vector<ScoreInput> inputs;
};

struct Mapping {
  enum class Method { kThresholdBands, kMultiEmit };
  struct Calibration {
    std::string method;
    double slope = 12;
  };
  struct Output {
    std::string name;
    Predicate range;
  };
  std::string name;
  std::string source;  // name of a score
  Method method = Method::kThresholdBands;
  Calibration calibration;
  std::vector<Output> outputs;
};

struct Projections {
  std::vector<Partition> partitions;
  std::vector<Score> scores;
  std::vector<Mapping> mappings;
};

/// Limits what records of the routing's requests hold. The router_replay of each decision already
/// obeys it.
struct DataPolicy {
  bool replay = true;
  bool replay_personal_data = true;
};

struct Routing {
  enum class Strategy { kPriority, kConfidence, kFusion };
  Strategy strategy = Strategy::kPriority;
  /// With kFusion: a decision with at least this confidence precedes all that have less. nullopt:
  /// the confidence gives no precedence.
  std::optional<double> override_confidence;
  std::vector<ModelCard> model_cards;
  std::map<std::string, ModelBinding> model_bindings;  // by task
  std::string reranker;  // model directory of its own; "": that of the file

  // Signals, by their keys in the file.
  std::vector<KeywordSignal> keywords;
  std::vector<EmbeddingSignal> embeddings;
  std::vector<IntentSignal> intents;
  std::vector<DomainSignal> domains;
  std::vector<ClassSignal> fact_check;
  std::vector<ClassSignal> user_feedbacks;
  std::vector<ReaskSignal> reasks;
  std::vector<PreferenceSignal> preferences;
  std::vector<LanguageSignal> language;
  std::vector<ContextSignal> context;
  std::vector<StructureSignal> structure;
  std::vector<ComplexitySignal> complexity;
  std::vector<ClassSignal> modality;
  std::vector<RoleBinding> role_bindings;
  std::vector<JailbreakSignal> jailbreak;
  std::vector<JailbreakSignal> safety;  // of another model, and of the method kClassifier
  std::vector<PiiSignal> pii;
  std::vector<KbSignal> kb;
  std::vector<ConversationSignal> conversation;
  std::vector<EventSignal> events;
  std::vector<MetadataSignal> metadata;
  std::vector<InputModalitySignal> input_modality;
  std::vector<ClassSignal> actions;
  std::vector<AgenticFactsSignal> agentic_facts;
  std::vector<SessionSignal> session;
  std::vector<ClassSignal> random;
  std::vector<QuestionSignal> questions;
  std::vector<ClassifierSignal> classifiers;

  Projections projections;
  std::vector<Decision> decisions;
  DataPolicy data_policy;
  LoopBudget budget;  // of decisions with the algorithm cascade that have none
};

inline constexpr std::string_view kSessionMetric = "session_metric";  // a type that is not built

/// True for signals that files of the Semantic Router have and this router cannot compute. They are
/// unavailable. The name may be NAME:KEY.
bool is_unbuilt_signal(const Routing& routing, std::string_view type, std::string_view name);

/// The name of the routing at the top of the file, for entrypoints.
inline constexpr std::string_view kDefaultRecipe = "default";
/// The name of a recipe that the router adds begins so: the routing at the top with only the
/// decisions of one algorithm.
inline constexpr std::string_view kDirectRecipe = "default:";

/// A further routing, which an entrypoint selects by its model names.
struct Recipe {
  std::string name;
  std::string description;
  Routing routing;
};

/// The requests that a rule of an entrypoint is for: those with its path and all of its headers.
struct EntrypointMatch {
  struct Path {
    enum class Type { kExact, kPrefix };  // a prefix ends at a slash of the path
    Type type = Type::kExact;
    std::string value;  // "": any path
  };
  struct Header {
    std::string name, type, value;
  };
  Path path;
  std::vector<Header> headers;
};

struct EntrypointRule {
  std::string name;
  std::vector<EntrypointMatch> matches;  // one of them suffices; none: all requests
  std::string recipe;
};

/// The path of requests of System One.
inline constexpr std::string_view kSystemOnePath = "/v1/systemone";

struct Entrypoint {
  enum class Api { kChat, kSystemOne };
  std::vector<std::string> model_names;
  std::string recipe;                 // or kDefaultRecipe; "": a rule chooses
  std::vector<EntrypointRule> rules;  // of those that match, the narrowest one wins
  Api api = Api::kChat;               // of the requests that may name it
};

/// Returns the value of a request header field by its lower-case name. Empty: the request has no
/// headers.
using HeaderLookup = std::function<std::optional<std::string_view>(std::string_view name)>;

/// The recipe of a request; "" if no rule of the entrypoint matches. `header` returns the path of
/// the request under the name ":path". Without one, the request is for chat completions.
std::string_view recipe_of(const Entrypoint& entrypoint, const HeaderLookup& header);
/// True if the headers of a client match a rule of the entrypoint, whatever path it requests.
bool is_open_to(const Entrypoint& entrypoint, const HeaderLookup& header);
/// The recipes that the entrypoint may lead to.
std::vector<std::string_view> recipes_of(const Entrypoint& entrypoint);

}  // namespace signalbox::config
