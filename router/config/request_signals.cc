// The signals in `routing.signals` that need no model.

#include <algorithm>
#include <chrono>
#include <set>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {

using namespace std::chrono_literals;

void refuse_empty(Reader& reader, const yaml::Node& node, std::string_view key,
                  std::string_view what) {
  const yaml::Node* list = node.find(key);
  if (list == nullptr || !is_idle(*list)) return;
  reader.at_key(key, [&] {
    reader.error(list->line, fmt::format("expected at least one {}, found none", what));
  });
}

void need(Reader& reader, const yaml::Node& node, std::string_view what, std::string_view word,
          std::string_view key) {
  const yaml::Node* type = node.find("type");
  if (type == nullptr || type->scalar != word || node.find(key) != nullptr) return;
  reader.at_key(key, [&] {
    reader.error(node.line, fmt::format("missing; a {} of type {} needs it", what, word));
  });
}

namespace {

void check_keyword(Reader& reader, const yaml::Node& node, KeywordSignal& out) {
  out.line = node.line;
  refuse_empty(reader, node, "keywords", "keyword");
  refuse_empty(reader, node, "patterns", "pattern");
  if (node.find("keywords") != nullptr || node.find("patterns") != nullptr) return;
  reader.at_key("keywords", [&] {
    reader.error(node.line, "missing; expected a list of strings, or patterns");
  });
}

void keep_line(Reader&, const yaml::Node& node, StructureSignal& out) {
  out.line = node.line;
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

constexpr Key kLanguageKeys[] = {
    text(FIELD(LanguageSignal, name), "ISO 639-1 code, which is the name for conditions.")
        .required(),
    signal_description<LanguageSignal>(),
    share(FIELD(LanguageSignal, threshold), "Least confidence. 0: the default of the detector."),
};

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
    choice(FIELD(StructureSource, type), kStructureSources,
           "The kind of content that is searched for in the text.")
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
    choice(FIELD(StructureFeature, type), kStructureFeatures, "The kind of measure.").required(),
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
    choice(FIELD(ConversationFeature, type), kConversationFeatures, "The kind of measure.")
        .required(),
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

constexpr Key kEventKeys[] = {
    signal_name<EventSignal>(),
    signal_description<EventSignal>(),
    texts(FIELD(EventSignal, event_types), "Types of events to find in the text."),
    texts(FIELD(EventSignal, severities), "Severities to find in the text."),
    texts(FIELD(EventSignal, action_codes), "Codes of events to find in the text."),
    boolean(FIELD(EventSignal, temporal), "Words of urgency match, too."),
};

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

using AgenticField = AgenticFactsSignal::Field;
using AgenticTest = AgenticFactsSignal::Test;

void check_agentic_test(Reader& reader, const yaml::Node& node, AgenticTest& test) {
  if (test.equals.empty() != test.in.empty()) return;
  reader.error(node.line, "expected one of \"equals\" and \"in\"");
}

constexpr Key kAgenticTestKeys[] = {
    text(FIELD(AgenticTest, equals), "The value."),
    texts(FIELD(AgenticTest, in), "The values, one of which the fact has."),
};
constexpr Section kAgenticTest{kAgenticTestKeys, checked<check_agentic_test>};

constexpr Choice kAgenticFields[] = {{"delegated_role", AgenticField::kDelegatedRole},
                                     {"task_phase", AgenticField::kTaskPhase}};

constexpr Key kAgenticFactKeys[] = {
    signal_name<AgenticFactsSignal>(),
    signal_description<AgenticFactsSignal>(),
    choice(FIELD(AgenticFactsSignal, field), kAgenticFields, "The fact.").required(),
    object(FIELD(AgenticFactsSignal, predicate), kAgenticTest, "Values that match.").required(),
};

using AgenticTrust = AgenticFacts::Trust;
using AgenticBounds = AgenticFacts::Bounds;

// As in the Semantic Router, spaces around the value do not count, and an empty one is the default.
void read_trimmed(Reader& reader, const yaml::Node& node, std::string& out) {
  const auto scalar = reader.scalar(node, "a string");
  if (!scalar) return;
  const std::string_view value = ascii::trimmed(scalar->text);
  if (!value.empty()) out = value;
}

void check_agentic_header(Reader& reader, const yaml::Node& node, std::string& name) {
  if (is_header_name(name)) return;
  reader.error(node.line, fmt::format("expected the name of a header, found \"{}\"", name));
}

constexpr Key kAgenticTrustKeys[] = {
    string(FIELD(AgenticTrust, marker_header),
           "Header by which a proxy vouches for the facts. The proxy must remove it from requests "
           "of clients. Default: `x-vsr-agentic-facts-trusted`.")
        .read_by<read_trimmed>()
        .then<check_agentic_header>(),
    string(FIELD(AgenticTrust, marker_value), "The value that it must have. Default: `1`.")
        .read_by<read_trimmed>(),
};
constexpr Section kAgenticTrust{kAgenticTrustKeys};

constexpr Key kAgenticBoundsKeys[] = {
    count(FIELD(AgenticBounds, max_envelope_bytes), "Bytes of the header. 0 (default): 8192."),
    count(FIELD(AgenticBounds, max_depth), "Depth of the delegation. 0 (default): 16."),
    count(FIELD(AgenticBounds, max_capabilities), "Required capabilities. 0 (default): 16."),
    count(FIELD(AgenticBounds, max_string_length), "Bytes of a text. 0 (default): 128."),
    duration(FIELD(AgenticBounds, max_lifetime), 1ms, 24h * 365 * 100,
             "Greatest time until the facts expire. Default: 5m.")
        .or_empty(),
    duration(FIELD(AgenticBounds, clock_skew), 0ms, 24h,
             "Difference of clocks that does not count. Default: 5s.")
        .or_empty(),
};
constexpr Section kAgenticBounds{kAgenticBoundsKeys};

void check_agentic_facts(Reader& reader, const yaml::Node& node, AgenticFacts& facts) {
  if (!ascii::iequals(facts.carrier_header, facts.trust.marker_header)) return;
  reader.error(node.line, fmt::format("\"{}\" is the header of the facts and the one that vouches "
                                      "for them; expected two headers",
                                      facts.carrier_header));
}

constexpr Key kAgenticFactsKeys[] = {
    boolean(FIELD(AgenticFacts, enabled),
            "Read the facts. Default: false, which matches no signal `agentic_facts`."),
    string(FIELD(AgenticFacts, carrier_header),
           "Header with the facts, as JSON. Default: `x-vsr-agentic-facts`.")
        .read_by<read_trimmed>()
        .then<check_agentic_header>(),
    object(FIELD(AgenticFacts, trust), kAgenticTrust, "The requests whose facts count."),
    object(FIELD(AgenticFacts, bounds), kAgenticBounds,
           "Bounds beyond which all facts of a request are ignored."),
};

constexpr std::string_view kNoValue = "conditions on the signal do not match, nor does NOT of them";

using SessionFact = SessionSignal::Fact;

constexpr Choice kSessionFacts[] = {
    {"session_present", SessionFact::kPresent}, {"has_previous_model", SessionFact::kPreviousModel},
    {"turn_index", SessionFact::kTurn},         {"cache_warmth", SessionFact::kOther},
    {"remaining_turns", SessionFact::kOther},   {"handoff_penalty", SessionFact::kOther},
    {"quality_gap", SessionFact::kOther}};

void check_session(Reader& reader, const yaml::Node& node, SessionSignal& out) {
  if (given(node, "fact") == nullptr) return;
  if (out.fact == SessionFact::kPreviousModel && !reader.config.router.learning.enabled)
    out.unbuilt = "global.router.learning is not enabled, so no conversation's model is known";
  const Providers& providers = reader.config.providers;
  if (out.fact != SessionFact::kPreviousModel && !out.previous_model.empty()) {
    reader.at_key("previous_model", [&] {
      reader.notice(node.find("previous_model")->line,
                    "has no effect: only the fact has_previous_model reads it");
    });
  } else if (out.unbuilt.empty() && !out.previous_model.empty() && !providers.models.empty() &&
             providers.find(out.previous_model) == nullptr) {
    out.unbuilt = fmt::format("there is no model \"{}\"", out.previous_model);
  }
  if (out.fact == SessionFact::kOther) out.unbuilt = "the router does not have this fact";
  if (out.unbuilt.empty()) return;
  reader.at_key("fact", [&] {
    reader.does_without(node.find("fact")->line, fmt::format("{}; {}", out.unbuilt, kNoValue));
  });
}

constexpr std::string_view kForOtherFacts = "only facts that the router does not have use it";

constexpr Key kSessionKeys[] = {
    signal_name<SessionSignal>(),
    signal_description<SessionSignal>(),
    choice(
        FIELD(SessionSignal, fact), kSessionFacts,
        "`session_present`: 1 if the request names its session or conversation, or has an answer "
        "of an assistant. `turn_index`: the user's earlier messages. `has_previous_model`: 1 if a "
        "model has answered in the conversation, which `global.router.learning` remembers.")
        .required(),
    object(FIELD(SessionSignal, predicate), kPredicate,
           "Numbers that match. Without it the signal never matches, and scores may read it."),
    text(FIELD(SessionSignal, previous_model),
         "The model of the last answer, for `has_previous_model`. Default: any."),
    unread("candidate_model", "Model that may answer.", kForOtherFacts),
    unread("intent_or_domain", "Domain of the request.", kForOtherFacts),
};

constexpr Key kRandomKeys[] = {
    signal_name<ClassSignal>(),
    signal_description<ClassSignal>(),
};

using QuestionKind = QuestionSignal::Kind;
using QuestionOption = QuestionSignal::Option;
using Question = QuestionSignal::Question;

constexpr Choice kQuestionKinds[] = {{"choice", QuestionKind::kChoice},
                                     {"noul", QuestionKind::kYesNo},
                                     {"score", QuestionKind::kScore},
                                     {"set", QuestionKind::kOther},
                                     {"span", QuestionKind::kOther}};

constexpr Key kQuestionOptionKeys[] = {
    text(FIELD(QuestionOption, key), "Name of the option, which is the label of conditions.")
        .required(),
    string(FIELD(QuestionOption, description), "Its meaning."),
};
constexpr Section kQuestionOption{kQuestionOptionKeys};

constexpr std::string_view kOfOtherQuestions = "questions of the types set and span are not built";

constexpr Key kAskedKeys[] = {
    choice(FIELD_AS("type", Question, kind), kQuestionKinds,
           "`choice`: one of the options. `noul`: yes or no. `score`: a level.")
        .required(),
    text(FIELD(Question, instructions), "The question.").required(),
    list(FIELD(Question, choices), kQuestionOption, "Options of a `choice`, 2 to 255."),
    texts(FIELD(Question, levels), "Levels of a `score`, 2 to 10, from the lowest to the highest."),
    unread("labels", "Labels of a set or span.", kOfOtherQuestions),
    unread("threshold", "Least probability of a label.", kOfOtherQuestions),
    unread("head", "Part of the model.", kOfOtherQuestions),
};
constexpr Section kAsked{kAskedKeys};

// The server that answers, or why there is none.
void find_answerer(Reader& reader, const yaml::Node& node, QuestionSignal& out) {
  const Config& config = reader.config;
  const std::string& name =
      out.deployment.empty() ? config.system_models.decision_deployment : out.deployment;
  const auto found = config.deployments.find(name);
  if (!name.empty() && found == config.deployments.end())
    return reader.error(node.line, fmt::format("unknown deployment \"{}\"", name));
  if (name.empty() || found->second.external_model.empty()) {
    out.unbuilt =
        "no server answers the question; its deployment must name one (provider: http and "
        "external_model)";
    return;
  }
  out.server = found->second.external_model;
}

// Labels of conditions are keys of options, so each names one option.
void check_choices(Reader& reader, uint32_t line, const std::vector<QuestionOption>& choices) {
  std::set<std::string_view> keys;
  for (const QuestionOption& each : choices) {
    if (!keys.insert(each.key).second)
      reader.error(line, fmt::format("the key \"{}\" is there twice", each.key));
  }
}

void note_other_question(Reader& reader, const yaml::Node& asked, std::string_view key,
                         std::string_view type) {
  const yaml::Node* at = given(asked, key);
  if (at == nullptr) return;
  reader.at_key(key, [&] {
    reader.notice(at->line,
                  fmt::format("has no effect; only a question of the type {} has {}", type, key));
  });
}

void check_question(Reader& reader, const yaml::Node& node, QuestionSignal& out) {
  const Question& question = out.question;
  const size_t choices = question.choices.size(), levels = question.levels.size();
  if (given(node, "question") == nullptr) return;
  reader.at_key("question", [&] {
    const uint32_t line = node.find("question")->line;
    if (question.kind == QuestionKind::kChoice && (choices < 2 || choices > 255))
      reader.error(line, fmt::format("expected 2 to 255 choices, found {}", choices));
    if (question.kind == QuestionKind::kScore && (levels < 2 || levels > 10))
      reader.error(line, fmt::format("expected 2 to 10 levels, found {}", levels));
    check_choices(reader, line, question.choices);
    if (question.kind != QuestionKind::kChoice)
      note_other_question(reader, *node.find("question"), "choices", "choice");
    if (question.kind != QuestionKind::kScore)
      note_other_question(reader, *node.find("question"), "levels", "score");
  });
  if (question.kind == QuestionKind::kScore && !out.predicate)
    reader.error(node.line, "a question of the type score needs a predicate");
  find_answerer(reader, node, out);
  if (question.kind == QuestionKind::kOther) out.unbuilt = kOfOtherQuestions;
  if (!out.unbuilt.empty())
    reader.does_without(node.line, fmt::format("{}; {}", out.unbuilt, kNoValue));
}

constexpr Key kQuestionKeys[] = {
    signal_name<QuestionSignal>(),
    signal_description<QuestionSignal>(),
    object(FIELD(QuestionSignal, question), kAsked, "The question.").required(),
    text(FIELD(QuestionSignal, deployment),
         "One of `global.model_catalog.deployments`, with `provider: http`. Default: "
         "`global.model_catalog.system.decision_model`."),
    object(
        FIELD(QuestionSignal, predicate), kPredicate,
        "Numbers that match: the probability of yes (default: from 0.5 up) or of the option that "
        "is chosen, or the expected level, which counts from 0."),
    integer(FIELD(QuestionSignal, timeout_ms), 1, 3'600'000,
            "Time limit of a call, in milliseconds. Default: that of the server."),
};

using InputModality = InputModalitySignal::Modality;

constexpr Choice kInputModalities[] = {{"text", InputModality::kText},
                                       {"image", InputModality::kImage},
                                       {"audio", InputModality::kAudio},
                                       {"video", InputModality::kVideo}};

constexpr Key kInputModalityKeys[] = {
    signal_name<InputModalitySignal>(),
    signal_description<InputModalitySignal>(),
    choice(FIELD(InputModalitySignal, modality), kInputModalities,
           "Kind of part that a message of the user must have.")
        .required(),
};

using Subject = RoleBinding::Subject;

constexpr Choice kSubjectKinds[] = {{"User", Subject::Kind::kUser},
                                    {"Group", Subject::Kind::kGroup}};

constexpr Key kSubjectKeys[] = {
    choice(FIELD(Subject, kind), kSubjectKinds, "Kind of the name: a user or a group.").required(),
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

}  // namespace

constinit const Section kPredicate{kPredicateKeys};
constinit const Section kKeyword{kKeywordKeys, checked<check_keyword>};
constinit const Section kLanguage{kLanguageKeys};
constinit const Section kContext{kContextKeys, checked<check_context>};
constinit const Section kStructure{kStructureKeys, checked<keep_line>};
constinit const Section kConversation{kConversationKeys};
constinit const Section kEvent{kEventKeys};
constinit const Section kMetadata{kMetadataKeys};
constinit const Section kAgenticFact{kAgenticFactKeys};
constinit const Section kAgenticFacts{kAgenticFactsKeys, checked<check_agentic_facts>};
constinit const Section kInputModality{kInputModalityKeys};
constinit const Section kRoleBinding{kRoleBindingKeys};
constinit const Section kSession{kSessionKeys, checked<check_session>};
constinit const Section kRandom{kRandomKeys};
constinit const Section kQuestion{kQuestionKeys, checked<check_question>};

}  // namespace signalbox::config
