// Signals that need no model: what can be seen in the text and the shape of a request.

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

void refuse_empty(Reader& reader, const yaml::Node& node, std::string_view key,
                  std::string_view what) {
  const yaml::Node* list = node.find(key);
  if (list == nullptr || !is_idle(*list)) return;
  reader.at_key(key, [&] {
    reader.error(list->line, fmt::format("expected at least one {}, found none", what));
  });
}

void check_keyword(Reader& reader, const yaml::Node& node, KeywordSignal&) {
  refuse_empty(reader, node, "keywords", "keyword");
  refuse_empty(reader, node, "patterns", "pattern");
  if (node.find("keywords") != nullptr || node.find("patterns") != nullptr) return;
  reader.at_key("keywords", [&] {
    reader.error(node.line, "missing; expected a list of strings, or patterns");
  });
}

void check_context(Reader& reader, const yaml::Node& node, ContextSignal& out) {
  if (!out.max_tokens || out.min_tokens <= *out.max_tokens) return;
  reader.at_key("max_tokens", [&] {
    reader.error(node.find("max_tokens")->line,
                 fmt::format("expected at least min_tokens, which is {}, found {}", out.min_tokens,
                             *out.max_tokens));
  });
}

Value<StructureSignal::Source> sequences() {
  using Source = StructureSignal::Source;
  constexpr std::string_view kExpected = "a list of lists of strings";
  return {std::string(kExpected),
          [=](Reader& reader, const yaml::Node& node, Source& out) {
            if (node.kind != yaml::Kind::kSequence) return reader.expected(node, kExpected);
            for (size_t i = 0; i < node.items.size(); ++i) {
              reader.at_index(
                  i, [&] { read_texts(reader, node.items[i], out.sequences.emplace_back()); });
            }
          },
          [](Schema& schema) {
            schema.type({"array"});
            schema.nested("items", [&] {
              schema.type({"array"});
              schema.nested("items", [&] { schema.text(); });
            });
          }};
}

void check_source(Reader& reader, const yaml::Node& node, StructureSignal::Source&) {
  const yaml::Node* type = node.find("type");
  const auto need = [&](std::string_view word, std::string_view key) {
    if (type == nullptr || type->scalar != word || node.find(key) != nullptr) return;
    reader.at_key(key, [&] {
      reader.error(node.line, fmt::format("missing; a source of type {} needs it", word));
    });
  };
  need("regex", "pattern");
  need("keyword_set", "keywords");
  need("sequence", "sequences");
}

const Section<StructureSignal::Source>& structure_source_section() {
  using Source = StructureSignal::Source;
  using Type = Source::Type;
  static const Section<Source> section{
      {
          required("type",
                   choice(&Source::type, {{"regex", Type::kRegex},
                                          {"keyword_set", Type::kKeywordSet},
                                          {"sequence", Type::kSequence},
                                          {"text_bytes", Type::kTextBytes}}),
                   "what is looked for"),
          optional("pattern", text(&Source::pattern), "of regex"),
          optional("keywords", texts(&Source::keywords), "of keyword_set"),
          optional("sequences", sequences(), "of sequence: words that follow each other"),
          optional("case_sensitive", boolean(&Source::case_sensitive),
                   "tell upper from lower case"),
      },
      check_source};
  return section;
}

const Section<StructureSignal::Feature>& structure_feature_section() {
  using Feature = StructureSignal::Feature;
  using Type = Feature::Type;
  static const Section<Feature> section{{
      required("type",
               choice(&Feature::type, {{"count", Type::kCount},
                                       {"exists", Type::kExists},
                                       {"sequence", Type::kSequence},
                                       {"density", Type::kDensity}}),
               "what is measured"),
      required("source", object(&Feature::source, structure_source_section), "of what"),
  }};
  return section;
}

const Section<ConversationSignal::Source>& conversation_source_section() {
  using Source = ConversationSignal::Source;
  static const Section<Source> section{{
      required("type", text(&Source::type),
               "message, tool_definition, active_tool_loop, image_content, ..."),
      optional("role", string(&Source::role), "of message: user, developer, non_user, ..."),
  }};
  return section;
}

const Section<ConversationSignal::Feature>& conversation_feature_section() {
  using Feature = ConversationSignal::Feature;
  static const Section<Feature> section{{
      required("type",
               choice(&Feature::type,
                      {{"count", Feature::Type::kCount}, {"exists", Feature::Type::kExists}}),
               "what is measured"),
      required("source", object(&Feature::source, conversation_source_section), "of what"),
  }};
  return section;
}

const Section<MetadataSignal::Test>& metadata_predicate_section() {
  static const Section<MetadataSignal::Test> section{{
      required("equals", string(&MetadataSignal::Test::equals), "the value"),
  }};
  return section;
}

}  // namespace

const Section<Predicate>& predicate_section() {
  static const Section<Predicate> section{{
      optional("gt", number(&Predicate::gt), "greater than"),
      optional("gte", number(&Predicate::gte), "at least"),
      optional("lt", number(&Predicate::lt), "less than"),
      optional("lte", number(&Predicate::lte), "at most"),
  }};
  return section;
}

const Section<KeywordSignal>& keyword_section() {
  using S = KeywordSignal;
  using Operator = S::Operator;
  using Method = S::Method;
  static const Section<S> section{
      {
          required("name", text(&S::name), "what conditions call it"),
          optional("description", string(&S::description), "for people"),
          optional(
              "operator",
              choice(&S::op,
                     {{"AND", Operator::kAnd}, {"OR", Operator::kOr}, {"NOR", Operator::kNor}}),
              "how many keywords must occur: all, any, none"),
          optional("keywords", texts(&S::keywords), "words and phrases, matched as whole words"),
          optional("patterns", texts(&S::patterns),
                   "regular expressions of RE2, counted like keywords; an extension"),
          optional("case_sensitive", boolean(&S::case_sensitive), "tell upper from lower case"),
          optional("method",
                   choice(&S::method, {{"regex", Method::kRegex},
                                       {"bm25", Method::kBm25},
                                       {"ngram", Method::kNgram},
                                       {"fuzzy", Method::kFuzzy}}),
                   "how keywords are compared with the text"),
          optional("fuzzy_match", boolean(&S::fuzzy_match),
                   "accept keywords that are nearly there"),
          optional("fuzzy_threshold", number(&S::fuzzy_threshold, 0, 100),
                   "how nearly, in percent"),
          optional("bm25_threshold", positive(&S::bm25_threshold), "least BM25 score that matches"),
          optional("ngram_threshold", share(&S::ngram_threshold), "least n-gram similarity"),
          optional("ngram_arity", integer(&S::ngram_arity, 1, 16), "letters in an n-gram"),
      },
      check_keyword};
  return section;
}

const Section<LanguageSignal>& language_section() {
  using S = LanguageSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "ISO 639-1 code, which is what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("threshold", share(&S::threshold), "least confidence; 0: the detector's own"),
  }};
  return section;
}

const Section<ContextSignal>& context_section() {
  using S = ContextSignal;
  static const Section<S> section{
      {
          required("name", text(&S::name), "what conditions call it"),
          optional("description", string(&S::description), "for people"),
          optional("min_tokens", tokens(&S::min_tokens), "fewest tokens of a request"),
          optional("max_tokens", tokens(&S::max_tokens), "most tokens; without it no bound"),
      },
      check_context};
  return section;
}

const Section<StructureSignal>& structure_section() {
  using S = StructureSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      required("feature", object(&S::feature, structure_feature_section), "what is measured"),
      optional("predicate", object(&S::predicate, predicate_section), "bounds of the measure"),
  }};
  return section;
}

const Section<ConversationSignal>& conversation_section() {
  using S = ConversationSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      required("feature", object(&S::feature, conversation_feature_section), "what is measured"),
      optional("predicate", object(&S::predicate, predicate_section), "bounds of the measure"),
  }};
  return section;
}

const Section<EventSignal>& event_section() {
  using S = EventSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("event_types", texts(&S::event_types), "kinds of events named in the text"),
      optional("severities", texts(&S::severities), "how bad they are"),
      optional("action_codes", texts(&S::action_codes), "codes of the events"),
      optional("temporal", boolean(&S::temporal), "words of urgency count as well"),
  }};
  return section;
}

const Section<MetadataSignal>& metadata_section() {
  using S = MetadataSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      required("key", text(&S::key), "of the request's metadata, which clients may forge"),
      optional("predicate", object(&S::predicate, metadata_predicate_section), "its value"),
  }};
  return section;
}

const Section<RoleBinding::Subject>& subject_section() {
  using Subject = RoleBinding::Subject;
  using Kind = Subject::Kind;
  static const Section<Subject> section{{
      required("kind", choice(&Subject::kind, {{"User", Kind::kUser}, {"Group", Kind::kGroup}}),
               "what the name is of"),
      required("name", text(&Subject::name), "as the trusted headers give it"),
  }};
  return section;
}

const Section<RoleBinding>& role_binding_section() {
  using S = RoleBinding;
  static const Section<S> section{{
      required("name", text(&S::name), "of the binding"),
      optional("description", string(&S::description), "for people"),
      required("role", text(&S::role), "what conditions on authz ask for"),
      optional("subjects", list(&S::subjects, subject_section), "who has the role"),
  }};
  return section;
}

}  // namespace signalbox::config
