#pragma once
// `routing.signals` as structs: what to find out about a request; and the conditions on signals,
// which refer to them by their names.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::config {

/// Bounds of a number; nullopt: no bound.
struct Predicate {
  std::optional<double> gt, gte, lt, lte;
  bool operator==(const Predicate&) const = default;
};

/// A node of the rules as written: a leaf has `type` and `name`, others have `op` and `conditions`.
struct Rule {
  enum class Operator { kLeaf, kAnd, kOr, kNot };
  /// kUnknown: a failed signal stays unknown. A decision whose rules stay unknown fails the
  /// request.
  enum class OnError { kDefault, kMatch, kNoMatch, kUnknown };
  Operator op = Operator::kAnd;
  std::string type;
  std::string name;
  std::vector<Rule> conditions;
  uint32_t line = 0;
  std::string label = {};                   // class that must match, for type classifier
  std::optional<Predicate> predicate = {};  // bounds of the signal's score
  OnError on_error = OnError::kDefault;
  bool must_be_known() const { return on_error == OnError::kUnknown; }
};

/// The scores that a decision rests on: those of the signals that make it match, other than
/// predicates and NOT. kNone: no signal has a score. kOther: they are not compared with any.
enum class ScoreKind : uint8_t { kNone, kProbability, kSimilarity, kOther };
ScoreKind score_kind(const Rule& rule);

/// How to reduce the examples of a class to a few prototypes, and the similarities to one score.
struct PrototypeScoring {
  bool enabled = true;
  double cluster_similarity_threshold = 0.9;
  uint32_t max_prototypes = 0;  // 0: no limit
  double best_weight = 0.75;
  uint32_t top_m = 2;
  double margin_threshold = 0;
  double similarity_exponent = 1;  // EmbeddingModel::exponent(), which is not a key of its own here
};

/// The file of a classifier with independent labels that has the threshold of each.
struct OperatingPoint {
  std::string path = "operating_point.json";  // in the model directory, unless it is absolute
  std::string sha256;                         // "": any file

  bool operator==(const OperatingPoint&) const = default;
};

/// The deployment of a model, and its use. apply_bindings() moves it to the task's own settings.
struct ModelBinding {
  std::string deployment;
  std::string contract;  // form of the results
  std::string adapter;   // protocol of a server
  std::string head;
  std::string mapping_path;  // file of the classes by number
  std::optional<OperatingPoint> operating_point;
  uint32_t line = 0;

  bool operator==(const ModelBinding& other) const {
    return deployment == other.deployment && contract == other.contract &&
           adapter == other.adapter && head == other.head && mapping_path == other.mapping_path &&
           operating_point == other.operating_point;
  }
};

struct KeywordSignal {
  enum class Operator { kAnd, kOr, kNor };
  enum class Method { kWords, kRegex, kBm25, kNgram, kFuzzy };
  std::string name;
  Operator op = Operator::kOr;
  std::vector<std::string> keywords;
  bool case_sensitive = false;
  Method method = Method::kWords;
  bool fuzzy_match = false;
  double fuzzy_threshold = 0;  // up to 10: edits; up to 100: percent; 0: the method's default
  double bm25_threshold = 0.1;
  double ngram_threshold = 0.4;
  uint32_t ngram_arity = 3;
  std::string description = {};
  std::vector<std::string> patterns = {};  // RE2, counted like keywords; Signalbox only
  uint32_t line = 0;                       // in the file; 0: unknown
};

struct EmbeddingSignal {
  enum class Aggregation { kMean, kMax, kAny };
  enum class Modality { kText, kImage, kAudio };
  std::string name;
  double threshold = 0.8;
  std::vector<std::string> candidates;
  Aggregation aggregation = Aggregation::kMax;
  Modality query_modality = Modality::kText;
  std::string description = {};
  std::vector<std::string> negative_candidates = {};       // their score is subtracted
  std::optional<PrototypeScoring> prototype_scoring = {};  // nullopt: that of all signals
};

/// The nearest examples of all intents vote. Signalbox only.
struct IntentSignal {
  std::string name;
  std::string description;
  std::vector<std::string> examples;
  uint32_t neighbours = 5;
  double threshold = 0.5;       // least share of the votes
  double min_similarity = 0.3;  // of the nearest example
};

struct ModelScore {
  std::string model;
  double score = 0;
  std::optional<bool> use_reasoning;
};

struct DomainSignal {
  std::string name;
  std::string description;
  std::vector<std::string> mmlu_categories;  // classes of the classifier in this domain
  std::vector<ModelScore> model_scores;
};

/// A class of a classifier, under the same name: for fact_check, user_feedbacks, modality and
/// actions.
struct ClassSignal {
  std::string name;
  std::string description;
};

struct ReaskSignal {
  std::string name;
  std::string description;
  double threshold = 0.8;
  uint32_t lookback_turns = 1;
};

struct PreferenceSignal {
  std::string name;
  std::string description;
  std::vector<std::string> examples;
  double threshold = 0;
};

struct LanguageSignal {
  std::string name;  // ISO 639-1
  std::string description;
  double threshold = 0;  // 0: the default of the detector
};

struct ContextSignal {
  std::string name;
  std::string description;
  int64_t min_tokens = 0;
  std::optional<int64_t> max_tokens;  // both inclusive
};

struct StructureSignal {
  struct Source {
    enum class Type { kRegex, kKeywordSet, kSequence, kTextBytes };
    Type type = Type::kRegex;
    std::string pattern;
    std::vector<std::string> keywords;
    std::vector<std::vector<std::string>> sequences;
    bool case_sensitive = false;
  };
  struct Feature {
    enum class Type { kCount, kExists, kSequence, kDensity };
    Type type = Type::kExists;
    Source source;
  };
  std::string name;
  std::string description;
  Feature feature;
  std::optional<Predicate> predicate;
  uint32_t line = 0;  // in the file; 0: unknown
};

struct ComplexitySignal {
  struct Examples {
    std::vector<std::string> candidates;
    std::vector<std::string> image_candidates;
  };
  std::string name;
  std::string description;
  double threshold = 0.1;
  std::optional<double> hard_above, easy_below;  // nullopt: threshold, and its negative
  std::optional<double> hard_below, easy_above;  // of a server's score, in place of these two
  Examples hard;
  Examples easy;
  std::optional<Rule> composer;  // condition on other signals that must hold, too
};

struct RoleBinding {
  struct Subject {
    enum class Kind { kUser, kGroup };
    Kind kind = Kind::kUser;
    std::string name;
  };
  std::string name;
  std::string description;
  std::string role;  // name for conditions of type authz
  std::vector<Subject> subjects;
};

struct JailbreakSignal {
  enum class Method { kClassifier, kContrastive, kHybrid };
  enum class OnUnsupportedLanguage : uint8_t { kNoMatch, kMatch };
  enum class Direction : uint8_t { kRequest, kResponse };
  std::string name;
  std::string description;
  Method method = Method::kClassifier;
  double threshold = 0;  // 0: the threshold of the model's module
  bool include_history = false;
  Direction direction = Direction::kRequest;  // no signal of a Routing has another one
  OnUnsupportedLanguage on_unsupported_language = OnUnsupportedLanguage::kNoMatch;
  std::vector<std::string> jailbreak_patterns;
  std::vector<std::string> benign_patterns;
  std::string unusable = {};  // why no condition may read it; "": conditions may
};

/// The types of personal data that rules find or our models are trained on, in upper case, sorted.
/// A model of the user's own may find others, so an unknown type gives a notice, not an error.
std::span<const std::string_view> known_pii_types();

struct PiiSignal {
  std::string name;
  std::string description;
  double threshold = 0;  // 0: the threshold of the classifier
  std::vector<std::string> pii_types_allowed;
  bool include_history = false;
};

struct KbSignal {
  struct Target {
    enum class Kind { kLabel, kGroup };
    Kind kind = Kind::kLabel;
    std::string value;
  };
  enum class Match { kBest, kThreshold };
  std::string name;
  std::string description;
  std::string kb;  // name in global.model_catalog.kbs
  Target target;
  Match match = Match::kBest;
};

struct ConversationSignal {
  struct Source {
    enum class Type {
      kMessage,
      kToolDefinition,
      kToolChoiceRequired,
      kToolChoiceNone,
      kToolCall,
      kToolResult,
      kToolLoop,
      kFlowState,
      kImage,
    };
    Type type = Type::kMessage;
    std::string role;  // for kMessage: user, developer, non_user, ...
  };
  struct Feature {
    enum class Type { kCount, kExists };
    Type type = Type::kExists;
    Source source;
  };
  std::string name;
  std::string description;
  Feature feature;
  std::optional<Predicate> predicate;
};

struct EventSignal {
  std::string name;
  std::string description;
  std::vector<std::string> event_types;
  std::vector<std::string> severities;
  std::vector<std::string> action_codes;
  bool temporal = false;
};

struct MetadataSignal {
  struct Test {
    std::string equals;
  };
  std::string name;
  std::string description;
  std::string key;
  Test predicate;
};

/// A fact about the agent behind the request, from the header of global.router.agentic_facts.
struct AgenticFactsSignal {
  enum class Field : uint8_t { kDelegatedRole, kTaskPhase };
  struct Test {
    std::string equals;
    std::vector<std::string> in;  // instead of `equals`
  };
  std::string name;
  std::string description;
  Field field = Field::kDelegatedRole;
  Test predicate;
};

/// A fact about the conversation that a request belongs to.
struct SessionSignal {
  enum class Fact : uint8_t { kPresent, kPreviousModel, kTurn, kOther };
  std::string name;
  std::string description;
  Fact fact = Fact::kOther;
  std::optional<Predicate> predicate;  // of the fact's number; nullopt: the signal never matches
  std::string previous_model;          // for kPreviousModel; "": any model
  std::string unbuilt = {};            // why it has no value; "": it has one
};

/// A typed question about the text, which a decision model on a server answers.
struct QuestionSignal {
  enum class Kind : uint8_t { kChoice, kYesNo, kScore, kOther };
  struct Option {
    std::string key;
    std::string description;
  };
  struct Question {
    Kind kind = Kind::kOther;
    std::string instructions;
    std::vector<Option> choices;
    std::vector<std::string> levels;  // from the lowest to the highest
  };
  std::string name;
  std::string description;
  Question question;
  std::string deployment;  // one of global.model_catalog.deployments; "": decision_model
  std::optional<Predicate> predicate;
  uint32_t timeout_ms = 0;   // of a call; 0: that of the server
  std::string server = {};   // one of global.model_catalog.external
  std::string unbuilt = {};  // why nobody answers; "": the server does
};

/// The user's messages have a part of this kind.
struct InputModalitySignal {
  enum class Modality : uint8_t { kText, kImage, kAudio, kVideo };
  std::string name;
  std::string description;
  Modality modality = Modality::kText;
};

struct ClassifierSignal {
  enum class Type { kLocal, kLlm, kHttp, kSystemOne };
  std::string name;
  std::string description;
  Type type = Type::kLocal;
  std::string model_path;  // local
  bool use_cpu = true;
  std::string model;  // of a server: one of global.model_catalog.external
  std::string instructions;
  std::vector<std::string> labels;
  uint32_t line = 0;  // of model_path
  /// Set if the labels are independent: each matches from its own threshold up.
  std::optional<OperatingPoint> operating_point;
};

}  // namespace signalbox::config
