// `routing.signals`: one list per type of signal, and the keys of signals that a model finds.

#include <algorithm>
#include <array>
#include <cmath>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// Types of personal data, in upper case and sorted. They stand here, not with the rules that find
// them, because a configuration is checked without those; a test compares the list with the rules
// and with the labels that our models are trained on.
constexpr auto kPiiTypes = std::to_array<std::string_view>({"AGE",         "API_KEY",
                                                            "CREDIT_CARD", "DATE_TIME",
                                                            "DOMAIN_NAME", "EMAIL_ADDRESS",
                                                            "GPE",         "IBAN_CODE",
                                                            "IP_ADDRESS",  "JWT",
                                                            "NRP",         "ORGANIZATION",
                                                            "PERSON",      "PHONE_NUMBER",
                                                            "PRIVATE_KEY", "STREET_ADDRESS",
                                                            "TITLE",       "US_DRIVER_LICENSE",
                                                            "US_SSN",      "ZIP_CODE"});
static_assert(std::is_sorted(kPiiTypes.begin(), kPiiTypes.end()));

// Those of complexity and jailbreak depend on how the signal is computed.
constexpr std::pair<std::string_view, ScoreKind> kScoreKinds[] = {
    {"domain", ScoreKind::kProbability},   {"classifier", ScoreKind::kProbability},
    {"safety", ScoreKind::kProbability},   {"preference", ScoreKind::kProbability},
    {"decision", ScoreKind::kProbability}, {"embedding", ScoreKind::kSimilarity},
    {"reask", ScoreKind::kSimilarity},     {"kb", ScoreKind::kSimilarity},
    {"complexity", ScoreKind::kOther},     {"jailbreak", ScoreKind::kOther},
};

void check_embedding(Reader& reader, const yaml::Node& node, EmbeddingSignal& out) {
  refuse_empty(reader, node, "candidates", "candidate");
  if (out.negative_candidates.empty() && std::abs(out.threshold) > 1) {
    reader.at_key("threshold", [&] {
      reader.error(node.find("threshold")->line,
                   fmt::format("expected a number from -1 to 1, found {}", out.threshold));
    });
  }
  if (out.query_modality == EmbeddingSignal::Modality::kText) return;
  reader.at_key("query_modality", [&] {
    reader.does_without(node.find("query_modality")->line,
                        "images and audio are not compared: the signal never matches");
  });
}

constexpr Choice kAggregations[] = {{"mean", EmbeddingSignal::Aggregation::kMean},
                                    {"max", EmbeddingSignal::Aggregation::kMax},
                                    {"any", EmbeddingSignal::Aggregation::kAny}};
constexpr Choice kQueryModalities[] = {{"text", EmbeddingSignal::Modality::kText},
                                       {"image", EmbeddingSignal::Modality::kImage},
                                       {"audio", EmbeddingSignal::Modality::kAudio}};

constexpr Key kEmbeddingKeys[] = {
    signal_name<EmbeddingSignal>(),
    signal_description<EmbeddingSignal>(),
    number(FIELD(EmbeddingSignal, threshold), -2, 2,
           "Least cosine similarity that matches; with `negative_candidates`, least difference. "
           "Default: 0.8."),
    texts(FIELD(EmbeddingSignal, candidates), "Examples of the texts to recognise.").required(),
    choice(FIELD_AS("aggregation_method", EmbeddingSignal, aggregation), kAggregations,
           "How the similarities to the candidates become one number. Default: `max`."),
    choice(FIELD(EmbeddingSignal, query_modality), kQueryModalities,
           "Part of the request to compare. Default: `text`, the only one that is built."),
    texts(FIELD(EmbeddingSignal, negative_candidates),
          "Examples of other texts. The similarity to them is subtracted from that to "
          "`candidates`."),
    object(FIELD(EmbeddingSignal, prototype_scoring), kPrototypeScoring,
           "How similarities become a score. Default: that of `embedding_config`."),
    unread("image_candidates", "Examples as images.", "images are not embedded"),
    unread("negative_image_candidates", "Examples of other images.", "images are not embedded"),
};
constexpr Section kEmbedding{kEmbeddingKeys, checked<check_embedding>};

void check_intent(Reader& reader, const yaml::Node& node, IntentSignal&) {
  refuse_empty(reader, node, "examples", "example");
}

constexpr Key kIntentKeys[] = {
    signal_name<IntentSignal>(),
    signal_description<IntentSignal>(),
    texts(FIELD(IntentSignal, examples), "Requests with the intent.").required(),
    integer(FIELD(IntentSignal, neighbours), 1, 1000,
            "Nearest examples of all intents that vote. Default: 5."),
    share(FIELD(IntentSignal, threshold), "Least share of the votes that matches. Default: 0.5."),
    number(FIELD(IntentSignal, min_similarity), -1, 1,
           "Least similarity of the nearest example. Default: 0.3."),
};
constexpr Section kIntent{kIntentKeys, checked<check_intent>};

constexpr Key kModelScoreKeys[] = {
    text(FIELD(ModelScore, model), "One of `providers.models`.").required(),
    number(FIELD(ModelScore, score), "Quality of the model's replies in the domain."),
    boolean(FIELD(ModelScore, use_reasoning), "Switch reasoning on or off in the domain."),
};
constexpr Section kModelScore{kModelScoreKeys};

constexpr Key kDomainKeys[] = {
    signal_name<DomainSignal>(),
    signal_description<DomainSignal>(),
    texts(FIELD(DomainSignal, mmlu_categories),
          "Classes of the classifier that belong to the domain. Default: the name."),
    list(FIELD(DomainSignal, model_scores), kModelScore, "Quality of models in the domain."),
};
constexpr Section kDomain{kDomainKeys};

constexpr Key kClassKeys[] = {
    text(FIELD(ClassSignal, name), "Class of the classifier.").required(),
    signal_description<ClassSignal>(),
};
constexpr Section kClass{kClassKeys};

// Gives a notice for a name that the classifier has no class for.
void note_unknown_classes(Reader& reader, const yaml::Node& node,
                          const std::vector<ClassSignal>& classes,
                          std::span<const std::string_view> known) {
  for (size_t i = 0; i < node.items.size() && i < classes.size(); ++i) {
    const std::string& name = classes[i].name;
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    reader.at_index(i, [&] {
      reader.notice(node.items[i].line,
                    fmt::format("\"{}\" never matches{}", name, suggestion(name, known)));
    });
  }
}

constexpr char kFactCheckClasses[] = "needs_fact_check no_fact_check_needed";
constexpr char kFeedbackClasses[] = "satisfied need_clarification wrong_answer want_different";
constexpr char kModalityClasses[] = "AR DIFFUSION BOTH";
constexpr char kActions[] = "generate explain fix refactor test other";

template <const char* kKnown>
void check_classes(Reader& reader, const yaml::Node& node, std::vector<ClassSignal>& classes) {
  note_unknown_classes(reader, node, classes, split_words(kKnown));
}

constexpr Key kReaskKeys[] = {
    signal_name<ReaskSignal>(),
    signal_description<ReaskSignal>(),
    number(FIELD(ReaskSignal, threshold), -1, 1,
           "Least similarity to an earlier turn that matches. Default: 0.8."),
    integer(FIELD(ReaskSignal, lookback_turns), 0, 1000, "Earlier turns to compare. Default: 1."),
};
constexpr Section kReask{kReaskKeys};

constexpr Key kPreferenceKeys[] = {
    signal_name<PreferenceSignal>(),
    string(FIELD(PreferenceSignal, description), "The preference, as text for models."),
    texts(FIELD(PreferenceSignal, examples), "Requests that show the preference."),
    number(FIELD(PreferenceSignal, threshold), -1, 1,
           "Least similarity, or confidence of a judge, that matches. 0: the default."),
};
constexpr Section kPreference{kPreferenceKeys};

using ComplexityExamples = ComplexitySignal::Examples;

constexpr Key kComplexityExamplesKeys[] = {
    texts(FIELD(ComplexityExamples, candidates), "Texts of that kind."),
    texts(FIELD(ComplexityExamples, image_candidates), "Descriptions of images of that kind.")
        .not_built("images are not examined"),
};
constexpr Section kComplexityExamples{kComplexityExamplesKeys};

// A server rates the requests in place of examples, and one that returns levels needs no bounds.
void note_rated_complexity(Reader& reader, const yaml::Node& node, const ComplexityModule& module) {
  if (!module.server.calls_server()) return;
  for (const std::string_view key : {"hard", "easy", "threshold", "hard_above", "easy_below"}) {
    const bool is_example = key == "hard" || key == "easy";
    const yaml::Node* at = given(node, key);
    if (at == nullptr || (module.is_scored() && !is_example)) continue;
    reader.at_key(key, [&] {
      reader.notice(at->line,
                    "has no effect, because the server of modules.complexity.backend rates the "
                    "requests");
    });
  }
}

void check_margin(Reader& reader, const yaml::Node& node, std::string_view key,
                  const std::optional<double>& bound) {
  if (!bound || std::abs(*bound) <= 2) return;
  reader.at_key(key, [&] {
    reader.error(node.find(key)->line,
                 fmt::format("expected a number from -2 to 2, found {}", *bound));
  });
}

// Two bounds take the place of the threshold. Their order depends on the direction of the scale.
void check_complexity(Reader& reader, const yaml::Node& node, ComplexitySignal& out) {
  note_rated_complexity(reader, node, reader.config.modules.complexity);
  const bool is_higher = out.hard_above || out.easy_below;
  const bool is_lower = out.hard_below || out.easy_above;
  const ComplexityModule& module = reader.config.modules.complexity;
  if (is_lower && !module.is_scored())
    return reader.error(node.line,
                        "hard_below and easy_above are for a server that scores requests "
                        "(modules.complexity.backend with the contract score.v1); use hard_above "
                        "and easy_below");
  if (!module.is_scored()) {
    check_margin(reader, node, "hard_above", out.hard_above);
    check_margin(reader, node, "easy_below", out.easy_below);
  }
  if (!is_higher && !is_lower) {
    if (module.is_scored())
      reader.error(node.line,
                   "the server of modules.complexity.backend has a scale of its own; expected "
                   "hard_above and easy_below, or hard_below and easy_above");
    return;
  }
  const bool is_pair =
      is_higher ? out.hard_above && out.easy_below : out.hard_below && out.easy_above;
  if (is_higher == is_lower || !is_pair || given(node, "threshold") != nullptr)
    return reader.error(node.line, "expected either threshold, or hard_above and easy_below");
  const std::string_view key = is_higher ? "easy_below" : "easy_above";
  const double hard = is_higher ? *out.hard_above : *out.hard_below;
  const double easy = is_higher ? *out.easy_below : *out.easy_above;
  if (is_higher ? easy < hard : easy > hard) return;
  reader.at_key(std::string(key), [&] {
    reader.error(
        node.find(key)->line,
        fmt::format("expected {} than {}, which is {}, found {}", is_higher ? "less" : "more",
                    is_higher ? "hard_above" : "hard_below", hard, easy));
  });
}

constexpr double kBoundMax = 1e9;  // a server's scale may be any

constexpr Key kComplexityKeys[] = {
    text(FIELD(ComplexitySignal, name),
         "Name for conditions, which append `:hard`, `:medium` or `:easy`.")
        .required(),
    signal_description<ComplexitySignal>(),
    number(FIELD(ComplexitySignal, threshold), -1, 2,
           "The score is the similarity to hard examples minus that to easy ones. Above this a "
           "request is hard, below its negative easy. Default: 0.1."),
    number(FIELD(ComplexitySignal, hard_above), -kBoundMax, kBoundMax,
           "Score above which a request is hard, instead of `threshold`."),
    number(FIELD(ComplexitySignal, easy_below), -kBoundMax, kBoundMax,
           "Score below which it is easy."),
    number(
        FIELD(ComplexitySignal, hard_below), -kBoundMax, kBoundMax,
        "Score below which it is hard, for a server whose scores are lower for harder requests."),
    number(FIELD(ComplexitySignal, easy_above), -kBoundMax, kBoundMax,
           "Score above which it is easy, for such a server."),
    object(FIELD(ComplexitySignal, hard), kComplexityExamples, "Examples of hard requests."),
    object(FIELD(ComplexitySignal, easy), kComplexityExamples, "Examples of easy requests."),
    object(FIELD(ComplexitySignal, composer), kRule,
           "Condition on other signals that must hold, too."),
};
constexpr Section kComplexity{kComplexityKeys, checked<check_complexity>};

constexpr Choice kJailbreakMethods[] = {{"classifier", JailbreakSignal::Method::kClassifier},
                                        {"contrastive", JailbreakSignal::Method::kContrastive},
                                        {"hybrid", JailbreakSignal::Method::kHybrid}};

using OnUnsupportedLanguage = JailbreakSignal::OnUnsupportedLanguage;

constexpr Choice kOnUnsupportedLanguage[] = {{"match", OnUnsupportedLanguage::kMatch},
                                             {"no_match", OnUnsupportedLanguage::kNoMatch}};

void check_jailbreak(Reader& reader, const yaml::Node& node, JailbreakSignal& out) {
  if (out.method != JailbreakSignal::Method::kContrastive ||
      out.on_unsupported_language != OnUnsupportedLanguage::kMatch)
    return;
  reader.at_key("on_unsupported_language", [&] {
    reader.error(node.find("on_unsupported_language")->line,
                 "match needs a classifier, and the method contrastive has none; use the method "
                 "classifier or hybrid, or remove this key");
  });
}

using Direction = JailbreakSignal::Direction;

constexpr Choice kDirections[] = {{"request", Direction::kRequest},
                                  {"response", Direction::kResponse}};

constexpr Key kJailbreakKeys[] = {
    signal_name<JailbreakSignal>(),
    signal_description<JailbreakSignal>(),
    choice(FIELD(JailbreakSignal, method), kJailbreakMethods,
           "A classifier (default), similarity to patterns, or both."),
    share(FIELD(JailbreakSignal, threshold),
          "Least score that matches. 0: the threshold of prompt_guard."),
    boolean(FIELD(JailbreakSignal, include_history), "Examine earlier turns, too."),
    choice(FIELD(JailbreakSignal, direction), kDirections,
           "`request` (default). With `response` the signal is left out."),
    choice(FIELD(JailbreakSignal, on_unsupported_language), kOnUnsupportedLanguage,
           "Sets the result for a text in a language that the classifier does not support, if it "
           "finds no attempt: a match, or only a report (`no_match`, the default)."),
    texts(FIELD(JailbreakSignal, jailbreak_patterns), "Examples of attempts."),
    texts(FIELD(JailbreakSignal, benign_patterns), "Examples that only resemble attempts."),
};
constexpr Section kJailbreak{kJailbreakKeys, checked<check_jailbreak>};

// Such a signal is an error only where a condition reads it.
void check_safety(Reader& reader, const yaml::Node& node, JailbreakSignal& out) {
  if (const yaml::Node* labels = given(node, "unsafe_labels")) {
    std::vector<std::string> unsafe;
    reader.at_key("unsafe_labels", [&] { read_texts(reader, *labels, unsafe); });
    if (unsafe != std::vector<std::string>{"unsafe"})
      out.unusable = "its unsafe_labels are not [unsafe], and no other class counts here";
  }
  const yaml::Node* model = given(node, "model");
  if (model != nullptr && !is_idle(*model)) {
    out.unusable =
        "a server for safety signals is not built; global.model_catalog.system.safety names the "
        "directory of their model";
  }
}

constexpr Key kSafetyKeys[] = {
    signal_name<JailbreakSignal>(),
    signal_description<JailbreakSignal>(),
    share(FIELD(JailbreakSignal, threshold),
          "Least probability of the class `unsafe` that matches. Default: 0.5."),
    boolean(FIELD(JailbreakSignal, include_history), "Examine earlier turns, too. Signalbox only."),
    unbound("model", Kind::kRemark,
            "A model on a server, which is not built: no condition may read the signal."),
    unbound("labels", Kind::kRemark, "Classes of the model, which names them itself."),
    unbound("unsafe_labels", Kind::kRemark,
            "Classes that count: `[unsafe]`. With others, no condition may read the signal."),
    unread("hazard", "Kinds of hazards that count.",
           "every kind counts: the signal matches if the whole is unsafe"),
};
constexpr Section kSafety{kSafetyKeys, checked<check_safety>};

// A signal that examines replies must not become a guard of requests.
void leave_out_replies(Reader& reader, const yaml::Node& node, std::vector<JailbreakSignal>& out) {
  const auto is_of_replies = [](const JailbreakSignal& each) {
    return each.direction == Direction::kResponse;
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (!is_of_replies(out[i])) continue;
    reader.at_index(i, [&] {
      reader.does_without(node.items[i].line,
                          "has no effect: the plugin response_jailbreak examines replies with its "
                          "own threshold, and no condition can read the signal");
    });
  }
  std::erase_if(out, is_of_replies);
}

constexpr Key kPiiKeys[] = {
    signal_name<PiiSignal>(),
    signal_description<PiiSignal>(),
    share(FIELD(PiiSignal, threshold),
          "Least confidence that matches. 0: the threshold of the classifier."),
    texts(FIELD(PiiSignal, pii_types_allowed), "Types of personal data that do not match.")
        .then<note_unknown_pii_types>(),
    boolean(FIELD(PiiSignal, include_history), "Examine earlier turns, too."),
};
constexpr Section kPii{kPiiKeys};

using KbTarget = KbSignal::Target;

constexpr Choice kKbTargetKinds[] = {{"label", KbTarget::Kind::kLabel},
                                     {"group", KbTarget::Kind::kGroup}};

constexpr Key kKbTargetKeys[] = {
    choice(FIELD(KbTarget, kind), kKbTargetKinds, "Kind of `value`: a label or a group."),
    text(FIELD(KbTarget, value), "A label or a group of the knowledge base.").required(),
};
constexpr Section kKbTarget{kKbTargetKeys};

constexpr Choice kKbMatches[] = {{"best", KbSignal::Match::kBest},
                                 {"threshold", KbSignal::Match::kThreshold}};

constexpr Key kKbKeys[] = {
    signal_name<KbSignal>(),
    signal_description<KbSignal>(),
    text(FIELD(KbSignal, kb), "One of `global.model_catalog.kbs`.").required(),
    object(FIELD(KbSignal, target), kKbTarget, "Part of the knowledge base that must match.")
        .required(),
    choice(FIELD(KbSignal, match), kKbMatches,
           "The best label matches (default), or every label over its threshold."),
};
constexpr Section kKb{kKbKeys};

void check_classifier(Reader& reader, const yaml::Node& node, ClassifierSignal& out) {
  if (const yaml::Node* const path = node.find("model_path")) out.line = path->line;
  if (is_bound(reader.config, reader.routing, out.name)) return;
  need(reader, node, "classifier", "local", "model_path");
  need(reader, node, "classifier", "llm", "model");
  need(reader, node, "classifier", "systemone", "model");
  need(reader, node, "classifier", "systemone", "instructions");
  for (const std::string_view type : {"http_classify", "sequence_classifier"})
    need(reader, node, "classifier", type, "model");
}

constexpr Choice kClassifierTypes[] = {{"local", ClassifierSignal::Type::kLocal},
                                       {"llm", ClassifierSignal::Type::kLlm},
                                       {"systemone", ClassifierSignal::Type::kSystemOne},
                                       {"http_classify", ClassifierSignal::Type::kHttp},
                                       {"sequence_classifier", ClassifierSignal::Type::kHttp}};

constexpr Key kClassifierKeys[] = {
    signal_name<ClassifierSignal>(),
    signal_description<ClassifierSignal>(),
    choice(FIELD(ClassifierSignal, type), kClassifierTypes,
           "A model that the router runs, or one on a server: a language model, a decision model, "
           "or a classifier, for which `http_classify` is another name (Signalbox only).")
        .required(),
    text(FIELD(ClassifierSignal, model_path), "Model directory, for type `local`."),
    boolean(FIELD(ClassifierSignal, use_cpu), "Run the model on the processor.")
        .no_effect("the router runs its models on the processor")
        .unless("true yes on"),
    text(FIELD(ClassifierSignal, model),
         "One of `global.model_catalog.external`, for a model on a server."),
    string(FIELD(ClassifierSignal, instructions),
           "How to choose a label, for types `llm` and `systemone`."),
    unread("disable_rationale", "The model gives no reason, for type `llm`.",
           "the model is requested to give a label alone"),
    texts(FIELD(ClassifierSignal, labels),
          "Classes. Default: all classes of the model; for a model on a server, those of "
          "conditions."),
};
constexpr Section kClassifier{kClassifierKeys, checked<check_classifier>};

void note_facts_off(Reader& reader, const yaml::Node& node, std::vector<AgenticFactsSignal>&) {
  if (reader.config.router.agentic_facts.enabled) return;
  reader.notice(node.line, "never match, because global.router.agentic_facts is not enabled");
}

constexpr std::string_view kByPlugin = "the plugin of this name checks replies by its own keys";
constexpr std::string_view kNoSuchSignal =
    "there are no signals of this type; conditions on them do not match, nor does NOT of them";

constexpr Key kSignalsKeys[] = {
    named(FIELD(Routing, keywords), kKeyword, "Words that must or must not occur."),
    named(FIELD(Routing, embeddings), kEmbedding, "Texts of similar meaning."),
    named(FIELD(Routing, intents), kIntent,
          "Intents, by a vote of the nearest examples. Signalbox only."),
    named(FIELD(Routing, domains), kDomain, "Fields of knowledge."),
    named(FIELD(Routing, fact_check), kClass, "Need of the request for facts.")
        .then<check_classes<kFactCheckClasses>>(),
    named(FIELD(Routing, user_feedbacks), kClass, "The user's opinion of the last answer.")
        .then<check_classes<kFeedbackClasses>>(),
    named(FIELD(Routing, reasks), kReask, "Repeated questions."),
    named(FIELD(Routing, preferences), kPreference, "Preferences of the user for answers."),
    named(FIELD(Routing, language), kLanguage, "Language of the request."),
    named(FIELD(Routing, context), kContext, "Length of the request."),
    named(FIELD(Routing, structure), kStructure, "Structure of the text."),
    named(FIELD(Routing, modality), kClass, "Kind of answer: text, image or both.")
        .then<check_classes<kModalityClasses>>(),
    named(FIELD(Routing, role_bindings), kRoleBinding, "Roles of users and groups."),
    named(FIELD(Routing, jailbreak), kJailbreak, "Attempts to override instructions.")
        .then<leave_out_replies>(),
    named(FIELD(Routing, safety), kSafety,
          "Risky content, by a model of the classes `safe` and `unsafe`."),
    named(FIELD(Routing, pii), kPii, "Personal data."),
    named(FIELD(Routing, kb), kKb, "Similarity to a knowledge base of examples."),
    named(FIELD(Routing, conversation), kConversation, "Turns, tools and images."),
    named(FIELD(Routing, events), kEvent, "Events named in the text.").also("event_context_rules"),
    named(FIELD(Routing, metadata), kMetadata, "Metadata of the request."),
    named(FIELD(Routing, input_modality), kInputModality, "Kinds of parts of the user's messages."),
    named(FIELD(Routing, actions), kClass,
          "The action that the user wants: `generate`, `explain`, `fix`, `refactor`, `test` or "
          "`other`.")
        .then<check_classes<kActions>>(),
    named(FIELD(Routing, agentic_facts), kAgenticFact,
          "Facts about the agent behind the request (`global.router.agentic_facts`).")
        .then<note_facts_off>(),
    named(FIELD(Routing, session), kSession, "Facts about the conversation."),
    named(FIELD(Routing, random), kRandom,
          "A digit by chance, 0 to 9, for each request. The signal always matches."),
    named(FIELD_AS("decision", Routing, questions), kQuestion,
          "Questions that a decision model on a server answers."),
    named(FIELD(Routing, classifiers), kClassifier, "Your own classifiers."),
    // The last, because its composer has conditions on the others.
    named(FIELD(Routing, complexity), kComplexity, "Difficulty of the request."),
    unread("hallucination", "Claims of a reply.", kByPlugin),
    unread("response_jailbreak", "Attacks in a reply.", kByPlugin),
    unread("topic_continuity", "Changes of topic.", "nothing here reads them"),
    unread("session_metrics", "Figures of the conversation.", kNoSuchSignal),
    removed("signal_groups", "use routing.projections.partitions"),
    removed("category_kb", "use global.model_catalog.kbs and signals.kb"),
    removed("taxonomy", "use global.model_catalog.kbs and signals.kb"),
};

// --- labels of conditions ---

void check_label_is_known(Reader& reader, const yaml::Node& label, const Rule& rule,
                          const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), rule.label) != known.end()) return;
  reader.at_key("label", [&] {
    reader.error(label.line, fmt::format("\"{}\" is not a label of the {} \"{}\"{}", rule.label,
                                         rule.type, rule.name, suggestion(rule.label, known)));
  });
}

// A classifier matches by its classes. If the signal lists none, they are those of its model.
void check_class(Reader& reader, const yaml::Node& node, const Rule& rule) {
  const yaml::Node* label = node.find("label");
  if (label == nullptr) {
    return reader.at_key(
        "label", [&] { reader.error(node.line, "missing; expected a class of the classifier"); });
  }
  if (reader.routing == nullptr) return;
  const auto& all = reader.routing->classifiers;
  const auto signal = std::ranges::find(all, rule.name, &ClassifierSignal::name);
  if (signal == all.end() || signal->labels.empty()) return;
  check_label_is_known(reader, *label, rule, {signal->labels.begin(), signal->labels.end()});
}

// A choice matches by its options, and the other questions by their number.
void check_option(Reader& reader, const yaml::Node& node, const Rule& rule) {
  if (reader.routing == nullptr) return;
  const auto& all = reader.routing->questions;
  const auto signal = std::ranges::find(all, rule.name, &QuestionSignal::name);
  if (signal == all.end() || signal->question.kind == QuestionSignal::Kind::kOther) return;
  const yaml::Node* label = node.find("label");
  const bool is_choice = signal->question.kind == QuestionSignal::Kind::kChoice;
  if (is_choice == (label == nullptr)) {
    return reader.at_key("label", [&] {
      reader.error(node.line, is_choice ? "missing; expected an option of the question"
                                        : "only questions of the type choice have options");
    });
  }
  if (!is_choice) return;
  std::vector<std::string_view> known;
  for (const QuestionSignal::Option& option : signal->question.choices) known.push_back(option.key);
  check_label_is_known(reader, *label, rule, known);
}

}  // namespace

void check_label(Reader& reader, const yaml::Node& node, const Rule& rule) {
  if (rule.type == "classifier") check_class(reader, node, rule);
  if (rule.type == "decision") check_option(reader, node, rule);
}

ScoreKind score_kind(const Rule& rule) {
  if (rule.op == Rule::Operator::kNot || rule.predicate) return ScoreKind::kNone;
  if (rule.op == Rule::Operator::kLeaf) {
    const auto* found =
        std::ranges::find(kScoreKinds, rule.type, [](const auto& each) { return each.first; });
    return found == std::end(kScoreKinds) ? ScoreKind::kNone : found->second;
  }
  ScoreKind out = ScoreKind::kNone;
  for (const Rule& condition : rule.conditions) {
    const ScoreKind kind = score_kind(condition);
    if (kind == ScoreKind::kNone) continue;
    out = out == ScoreKind::kNone || out == kind ? kind : ScoreKind::kOther;
  }
  return out;
}

void check_signal_name(Reader& reader, uint32_t line, std::string_view type, std::string_view name,
                       const std::vector<std::string>& names) {
  reader.at_key("name", [&] {
    const auto& all = reader.routing->safety;
    const auto signal = std::ranges::find(all, name, &JailbreakSignal::name);
    if (type == "safety" && signal != all.end() && !signal->unusable.empty()) {
      reader.error(line, fmt::format("the safety signal \"{}\" cannot be evaluated: {}", name,
                                     signal->unusable));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::vector<std::string_view> known(names.begin(), names.end());
    reader.error(line,
                 fmt::format("unknown {} signal \"{}\"{}", type, name, suggestion(name, known)));
  });
}

constinit const Section kSignals{kSignalsKeys};

std::span<const std::string_view> known_pii_types() {
  return kPiiTypes;
}

}  // namespace signalbox::config
