// `routing.signals`: one list per type of signal.

#include <algorithm>
#include <array>

#include "base/ascii.h"
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

void refuse_empty(Reader& reader, const yaml::Node& node, std::string_view key,
                  std::string_view what) {
  const yaml::Node* list = node.find(key);
  if (list == nullptr || !is_idle(*list)) return;
  reader.at_key(key, [&] {
    reader.error(list->line, fmt::format("expected at least one {}, found none", what));
  });
}

// Reports a missing key that a value of `type` needs.
void need(Reader& reader, const yaml::Node& node, std::string_view what, std::string_view word,
          std::string_view key) {
  const yaml::Node* type = node.find("type");
  if (type == nullptr || type->scalar != word || node.find(key) != nullptr) return;
  reader.at_key(key, [&] {
    reader.error(node.line, fmt::format("missing; a {} of type {} needs it", what, word));
  });
}

template <class S>
constexpr Key signal_name() {
  return text(FIELD(S, name), "Name for conditions.").required();
}
template <class S>
constexpr Key signal_description() {
  return string(FIELD(S, description), "For people.");
}

// --- signals that need no model ---

void check_keyword(Reader& reader, const yaml::Node& node, KeywordSignal&) {
  refuse_empty(reader, node, "keywords", "keyword");
  refuse_empty(reader, node, "patterns", "pattern");
  if (node.find("keywords") != nullptr || node.find("patterns") != nullptr) return;
  reader.at_key("keywords", [&] {
    reader.error(node.line, "missing; expected a list of strings, or patterns");
  });
}

constexpr Choice kKeywordOperators[] = {{"AND", KeywordSignal::Operator::kAnd},
                                        {"OR", KeywordSignal::Operator::kOr},
                                        {"NOR", KeywordSignal::Operator::kNor}};
constexpr Choice kKeywordMethods[] = {{"regex", KeywordSignal::Method::kRegex},
                                      {"bm25", KeywordSignal::Method::kBm25},
                                      {"ngram", KeywordSignal::Method::kNgram},
                                      {"fuzzy", KeywordSignal::Method::kFuzzy}};

constexpr Key kKeywordKeys[] = {
    signal_name<KeywordSignal>(),
    signal_description<KeywordSignal>(),
    choice(FIELD_AS("operator", KeywordSignal, op), kKeywordOperators,
           "Keywords that must occur: all, any (default) or none."),
    texts(FIELD(KeywordSignal, keywords),
          "Words and phrases, matched as whole words; with `method: regex`, regular expressions."),
    texts(FIELD(KeywordSignal, patterns),
          "Regular expressions of RE2, counted like keywords. Signalbox only."),
    boolean(FIELD(KeywordSignal, case_sensitive), "Distinguish upper and lower case."),
    choice(FIELD(KeywordSignal, method), kKeywordMethods,
           "How to compare keywords with the text. Default: as whole words."),
    boolean(FIELD(KeywordSignal, fuzzy_match), "Accept keywords with small differences."),
    number(FIELD(KeywordSignal, fuzzy_threshold), 0, 100,
           "Up to 10: the greatest number of edits of a fuzzy match. Above: its least "
           "similarity, in percent. 0: 80 percent."),
    positive(FIELD(KeywordSignal, bm25_threshold), "Least BM25 score that matches. Default: 0.1."),
    share(FIELD(KeywordSignal, ngram_threshold),
          "Least n-gram similarity that matches. Default: 0.4."),
    integer(FIELD(KeywordSignal, ngram_arity), 1, 16, "Letters of an n-gram. Default: 3."),
};
constexpr Section kKeyword{kKeywordKeys, checked<check_keyword>};

constexpr Key kLanguageKeys[] = {
    text(FIELD(LanguageSignal, name), "ISO 639-1 code, which is the name for conditions.")
        .required(),
    signal_description<LanguageSignal>(),
    share(FIELD(LanguageSignal, threshold), "Least confidence. 0: the default of the detector."),
};
constexpr Section kLanguage{kLanguageKeys};

void check_context(Reader& reader, const yaml::Node& node, ContextSignal& out) {
  if (!out.max_tokens || out.min_tokens <= *out.max_tokens) return;
  reader.at_key("max_tokens", [&] {
    reader.error(node.find("max_tokens")->line,
                 fmt::format("expected at least min_tokens, which is {}, found {}", out.min_tokens,
                             *out.max_tokens));
  });
}

constexpr Key kContextKeys[] = {
    signal_name<ContextSignal>(),
    signal_description<ContextSignal>(),
    tokens(FIELD(ContextSignal, min_tokens), "Least length of a request, in tokens. Default: 0."),
    tokens(FIELD(ContextSignal, max_tokens), "Greatest length, in tokens. Default: no limit."),
};
constexpr Section kContext{kContextKeys, checked<check_context>};

constexpr Key kPredicateKeys[] = {
    number(FIELD(Predicate, gt), "The value is greater than this."),
    number(FIELD(Predicate, gte), "The value is at least this."),
    number(FIELD(Predicate, lt), "The value is less than this."),
    number(FIELD(Predicate, lte), "The value is at most this."),
};

using StructureSource = StructureSignal::Source;

void check_structure_source(Reader& reader, const yaml::Node& node, StructureSource&) {
  need(reader, node, "source", "regex", "pattern");
  need(reader, node, "source", "keyword_set", "keywords");
  need(reader, node, "source", "sequence", "sequences");
}

constexpr Choice kStructureSources[] = {{"regex", StructureSource::Type::kRegex},
                                        {"keyword_set", StructureSource::Type::kKeywordSet},
                                        {"sequence", StructureSource::Type::kSequence},
                                        {"text_bytes", StructureSource::Type::kTextBytes}};

constexpr Key kStructureSourceKeys[] = {
    choice(FIELD(StructureSource, type), kStructureSources, "What to look for in the text.")
        .required(),
    text(FIELD(StructureSource, pattern), "The pattern, for type `regex`."),
    texts(FIELD(StructureSource, keywords), "The words, for type `keyword_set`."),
    text_lists(FIELD(StructureSource, sequences),
               "Lists of words that follow each other in the text, for type `sequence`."),
    boolean(FIELD(StructureSource, case_sensitive), "Distinguish upper and lower case."),
};
constexpr Section kStructureSource{kStructureSourceKeys, checked<check_structure_source>};

using StructureFeature = StructureSignal::Feature;

constexpr Choice kStructureFeatures[] = {{"count", StructureFeature::Type::kCount},
                                         {"exists", StructureFeature::Type::kExists},
                                         {"sequence", StructureFeature::Type::kSequence},
                                         {"density", StructureFeature::Type::kDensity}};

constexpr Key kStructureFeatureKeys[] = {
    choice(FIELD(StructureFeature, type), kStructureFeatures, "What to measure.").required(),
    object(FIELD(StructureFeature, source), kStructureSource, "The part of the text to measure.")
        .required(),
};
constexpr Section kStructureFeature{kStructureFeatureKeys};

constexpr Key kStructureKeys[] = {
    signal_name<StructureSignal>(),
    signal_description<StructureSignal>(),
    object(FIELD(StructureSignal, feature), kStructureFeature, "The measurement.").required(),
    object(FIELD(StructureSignal, predicate), kPredicate, "Bounds of the measured value."),
};
constexpr Section kStructure{kStructureKeys};

using ConversationSource = ConversationSignal::Source;
using ConversationFeature = ConversationSignal::Feature;

constexpr Choice kConversationSources[] = {
    {"message", ConversationSource::Type::kMessage},
    {"tool_definition", ConversationSource::Type::kToolDefinition},
    {"tool_choice_required", ConversationSource::Type::kToolChoiceRequired},
    {"tool_choice_none", ConversationSource::Type::kToolChoiceNone},
    {"assistant_tool_call", ConversationSource::Type::kToolCall},
    {"assistant_tool_cycle", ConversationSource::Type::kToolResult},
    {"tool_result", ConversationSource::Type::kToolResult},
    {"active_tool_loop", ConversationSource::Type::kToolLoop},
    {"flow_tool_state", ConversationSource::Type::kFlowState},
    {"image_content", ConversationSource::Type::kImage},
};

constexpr Key kConversationSourceKeys[] = {
    choice(FIELD(ConversationSource, type), kConversationSources,
           "Part of the request; see docs/signals.md.")
        .required(),
    word(FIELD(ConversationSource, role), "user assistant system developer tool non_user any all",
         "Author of the messages, for type `message`. Default: anyone."),
};
constexpr Section kConversationSource{kConversationSourceKeys};

constexpr Choice kConversationFeatures[] = {{"count", ConversationFeature::Type::kCount},
                                            {"exists", ConversationFeature::Type::kExists}};

constexpr Key kConversationFeatureKeys[] = {
    choice(FIELD(ConversationFeature, type), kConversationFeatures, "What to measure.").required(),
    object(FIELD(ConversationFeature, source), kConversationSource,
           "The part of the request to measure.")
        .required(),
};
constexpr Section kConversationFeature{kConversationFeatureKeys};

constexpr Key kConversationKeys[] = {
    signal_name<ConversationSignal>(),
    signal_description<ConversationSignal>(),
    object(FIELD(ConversationSignal, feature), kConversationFeature, "The measurement.").required(),
    object(FIELD(ConversationSignal, predicate), kPredicate, "Bounds of the measured value."),
};
constexpr Section kConversation{kConversationKeys};

constexpr Key kEventKeys[] = {
    signal_name<EventSignal>(),
    signal_description<EventSignal>(),
    texts(FIELD(EventSignal, event_types), "Types of events to find in the text."),
    texts(FIELD(EventSignal, severities), "Severities to find in the text."),
    texts(FIELD(EventSignal, action_codes), "Codes of events to find in the text."),
    boolean(FIELD(EventSignal, temporal), "Words of urgency match, too."),
};
constexpr Section kEvent{kEventKeys};

using MetadataTest = MetadataSignal::Test;

constexpr Key kMetadataTestKeys[] = {
    string(FIELD(MetadataTest, equals), "The value.").required(),
};
constexpr Section kMetadataTest{kMetadataTestKeys};

constexpr Key kMetadataKeys[] = {
    signal_name<MetadataSignal>(),
    signal_description<MetadataSignal>(),
    text(FIELD(MetadataSignal, key), "Key of the request's metadata, which clients may forge.")
        .required(),
    object(FIELD(MetadataSignal, predicate), kMetadataTest,
           "Value that the key must have. Default: any value."),
};
constexpr Section kMetadata{kMetadataKeys};

using Subject = RoleBinding::Subject;

constexpr Choice kSubjectKinds[] = {{"User", Subject::Kind::kUser},
                                    {"Group", Subject::Kind::kGroup}};

constexpr Key kSubjectKeys[] = {
    choice(FIELD(Subject, kind), kSubjectKinds, "Whether the name is a user's or a group's.")
        .required(),
    text(FIELD(Subject, name), "Name of the user or group in the trusted headers.").required(),
};
constexpr Section kSubject{kSubjectKeys};

constexpr Key kRoleBindingKeys[] = {
    text(FIELD(RoleBinding, name), "Name of the binding.").required(),
    signal_description<RoleBinding>(),
    text(FIELD(RoleBinding, role), "Role, which is the name for conditions of type authz.")
        .required(),
    list(FIELD(RoleBinding, subjects), kSubject, "Users and groups that have the role."),
};
constexpr Section kRoleBinding{kRoleBindingKeys};

// --- signals that a model finds ---

void check_embedding(Reader& reader, const yaml::Node& node, EmbeddingSignal& out) {
  refuse_empty(reader, node, "candidates", "candidate");
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
    number(FIELD(EmbeddingSignal, threshold), -1, 1,
           "Least cosine similarity that matches. Default: 0.8."),
    texts(FIELD(EmbeddingSignal, candidates), "Examples of the texts to recognise.").required(),
    choice(FIELD_AS("aggregation_method", EmbeddingSignal, aggregation), kAggregations,
           "How the similarities to the candidates become one number. Default: `max`."),
    choice(FIELD(EmbeddingSignal, query_modality), kQueryModalities,
           "Part of the request to compare. Default: `text`, the only one that is built."),
    unread("prototype_scoring", kScoreFromExamples,
           "that of global.model_catalog.embeddings.semantic.embedding_config holds"),
    unread("image_candidates", "Examples as images.", "images are not embedded"),
    unread("negative_candidates", "Examples of other texts.", "`candidates` alone are compared"),
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

constexpr std::string_view kOneThreshold = "`threshold` holds for hard and for easy requests";

constexpr Key kComplexityKeys[] = {
    text(FIELD(ComplexitySignal, name),
         "Name for conditions, which append `:hard`, `:medium` or `:easy`.")
        .required(),
    signal_description<ComplexitySignal>(),
    number(FIELD(ComplexitySignal, threshold), -1, 2,
           "Margin between the similarities to hard and to easy examples. Default: 0.1."),
    unread("hard_above", "Margin from which a request is hard.", kOneThreshold),
    unread("easy_below", "Margin below which a request is easy.", kOneThreshold),
    object(FIELD(ComplexitySignal, hard), kComplexityExamples, "Examples of hard requests."),
    object(FIELD(ComplexitySignal, easy), kComplexityExamples, "Examples of easy requests."),
    object(FIELD(ComplexitySignal, composer), kRule,
           "Condition on other signals that must hold, too."),
};
constexpr Section kComplexity{kComplexityKeys};

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
    choice(FIELD(KbTarget, kind), kKbTargetKinds, "Whether `value` is a label or a group."),
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
  need(reader, node, "classifier", "local", "model_path");
  need(reader, node, "classifier", "llm", "model");
  need(reader, node, "classifier", "http_classify", "model");
}

constexpr Choice kClassifierTypes[] = {{"local", ClassifierSignal::Type::kLocal},
                                       {"llm", ClassifierSignal::Type::kLlm},
                                       {"http_classify", ClassifierSignal::Type::kHttp}};

constexpr Key kClassifierKeys[] = {
    signal_name<ClassifierSignal>(),
    signal_description<ClassifierSignal>(),
    choice(
        FIELD(ClassifierSignal, type), kClassifierTypes,
        "A model that the router runs, a language model on a server, or a classifier on a server "
        "(Signalbox only).")
        .required(),
    text(FIELD(ClassifierSignal, model_path), "Model directory, for type `local`."),
    boolean(FIELD(ClassifierSignal, use_cpu), "Run the model on the processor.")
        .no_effect("the router runs its models on the processor")
        .unless("true yes on"),
    text(FIELD(ClassifierSignal, model),
         "One of `global.model_catalog.external`, for types `llm` and `http_classify`."),
    string(FIELD(ClassifierSignal, instructions), "How to choose a label, for type `llm`."),
    texts(FIELD(ClassifierSignal, labels),
          "Classes. Default: all classes of the model; for a model on a server, those of "
          "conditions."),
};
constexpr Section kClassifier{kClassifierKeys, checked<check_classifier>};

constexpr std::string_view kByPlugin = "the plugin of this name checks replies by its own keys";
constexpr std::string_view kNoSuchSignal =
    "there are no signals of this type, and a condition on one is an error";

constexpr Key kSignalsKeys[] = {
    named(FIELD(Routing, keywords), kKeyword, "Words that must or must not occur."),
    named(FIELD(Routing, embeddings), kEmbedding, "Texts of similar meaning."),
    named(FIELD(Routing, intents), kIntent,
          "Intents, by a vote of the nearest examples. Signalbox only."),
    named(FIELD(Routing, domains), kDomain, "Fields of knowledge."),
    named(FIELD(Routing, fact_check), kClass, "Whether the request asks for facts.")
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
    named(FIELD(Routing, pii), kPii, "Personal data."),
    named(FIELD(Routing, kb), kKb, "Similarity to a knowledge base of examples."),
    named(FIELD(Routing, conversation), kConversation, "Turns, tools and images."),
    named(FIELD(Routing, events), kEvent, "Events named in the text.").also("event_context_rules"),
    named(FIELD(Routing, metadata), kMetadata, "Metadata of the request."),
    named(FIELD(Routing, classifiers), kClassifier, "Your own classifiers."),
    // The last, because its composer has conditions on the others.
    named(FIELD(Routing, complexity), kComplexity, "Difficulty of the request."),
    unread("input_modality", "Kinds of parts of the request.", kNoSuchSignal),
    unread("hallucination", "Claims of a reply.", kByPlugin),
    unread("response_jailbreak", "Attacks in a reply.", kByPlugin),
    unread("actions", "What the request wants to be done.", kNoSuchSignal),
    unread("safety", "Hazards in the request.", kNoSuchSignal),
    unread("decision", "Questions to a model.", kNoSuchSignal),
    unread("topic_continuity", "Changes of topic.", kNoSuchSignal),
    unread("session", "Facts about the conversation.", kNoSuchSignal),
    removed("signal_groups", "use routing.projections.partitions"),
    removed("category_kb", "use global.model_catalog.kbs and signals.kb"),
    removed("taxonomy", "use global.model_catalog.kbs and signals.kb"),
};

}  // namespace

constinit const Section kPredicate{kPredicateKeys};
constinit const Section kSignals{kSignalsKeys};

std::span<const std::string_view> known_pii_types() {
  return kPiiTypes;
}

}  // namespace signalbox::config
