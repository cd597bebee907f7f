// `routing.signals`: what is looked for in a request.

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

constexpr std::string_view kNever = "conditions on it are never met";

void check_method(Reader& reader, const yaml::Node& node, KeywordSignal&) {
  const auto method = reader.scalar(node, "one of regex, bm25, ngram, fuzzy");
  if (!method || method->text == "regex") return;
  if (method->text != "bm25" && method->text != "ngram" && method->text != "fuzzy") {
    return reader.expected(node, "one of regex, bm25, ngram, fuzzy");
  }
  reader.not_built(node.line, "the keywords are matched as they are written");
}

const Section<KeywordSignal>& keyword_section() {
  using Operator = KeywordSignal::Operator;
  constexpr std::string_view kUnused = "it has no effect";
  static const Section<KeywordSignal> section{
      {
          required("name", text(&KeywordSignal::name), "what conditions call it"),
          optional(
              "operator",
              choice(&KeywordSignal::op,
                     {{"AND", Operator::kAnd}, {"OR", Operator::kOr}, {"NOR", Operator::kNor}}),
              "how many keywords must occur: all, any, none"),
          required("keywords", texts(&KeywordSignal::keywords),
                   "words and phrases, matched as whole words"),
          optional("case_sensitive", boolean(&KeywordSignal::case_sensitive),
                   "tell upper from lower case"),
          optional("method", Value<KeywordSignal>{"one of regex, bm25, ngram, fuzzy", check_method},
                   "how keywords are compared with the text"),
          remark<KeywordSignal>("description"),
          not_built<KeywordSignal>("fuzzy_match", kUnused),
          not_built<KeywordSignal>("fuzzy_threshold", kUnused),
          not_built<KeywordSignal>("bm25_threshold", kUnused),
          not_built<KeywordSignal>("ngram_threshold", kUnused),
          not_built<KeywordSignal>("ngram_arity", kUnused),
      },
      [](Reader& reader, const yaml::Node& node, KeywordSignal&) {
        const yaml::Node* keywords = node.find("keywords");
        if (keywords == nullptr || !is_idle(*keywords)) return;
        reader.at_key("keywords", [&] {
          reader.error(keywords->line, "expected at least one keyword, found none");
        });
      }};
  return section;
}

void check_modality(Reader& reader, const yaml::Node& node, EmbeddingSignal&) {
  const auto modality = reader.scalar(node, "one of text, image, audio");
  if (!modality || modality->text == "text") return;
  if (modality->text != "image" && modality->text != "audio") {
    return reader.expected(node, "one of text, image, audio");
  }
  reader.not_built(node.line, "the request's text is compared");
}

const Section<EmbeddingSignal>& embedding_section() {
  using Aggregation = EmbeddingSignal::Aggregation;
  static const Section<EmbeddingSignal> section{
      {
          required("name", text(&EmbeddingSignal::name), "what conditions call it"),
          optional("threshold", number(&EmbeddingSignal::threshold, -1, 1),
                   "least similarity that matches"),
          required("candidates", texts(&EmbeddingSignal::candidates),
                   "examples of what to recognise"),
          optional("aggregation_method",
                   choice(&EmbeddingSignal::aggregation, {{"mean", Aggregation::kMean},
                                                          {"max", Aggregation::kMax},
                                                          {"any", Aggregation::kAny}}),
                   "how the similarities to the candidates become one"),
          optional("query_modality",
                   Value<EmbeddingSignal>{"one of text, image, audio", check_modality},
                   "which part of the request is compared"),
          remark<EmbeddingSignal>("description"),
      },
      [](Reader& reader, const yaml::Node& node, EmbeddingSignal&) {
        const yaml::Node* candidates = node.find("candidates");
        if (candidates == nullptr || !is_idle(*candidates)) return;
        reader.at_key("candidates", [&] {
          reader.error(candidates->line, "expected at least one candidate, found none");
        });
      }};
  return section;
}

}  // namespace

const Section<Routing>& signals_section() {
  static const Section<Routing> section{{
      optional("keywords", named_list(&Routing::keywords, keyword_section),
               "words that must or must not occur"),
      optional("embeddings", named_list(&Routing::embeddings, embedding_section),
               "texts of similar meaning"),
      not_built<Routing>("domains", kNever),
      not_built<Routing>("fact_check", kNever),
      not_built<Routing>("user_feedbacks", kNever),
      not_built<Routing>("reasks", kNever),
      not_built<Routing>("preferences", kNever),
      not_built<Routing>("language", kNever),
      not_built<Routing>("context", kNever),
      not_built<Routing>("structure", kNever),
      not_built<Routing>("complexity", kNever),
      not_built<Routing>("modality", kNever),
      not_built<Routing>("role_bindings", kNever),
      not_built<Routing>("jailbreak", kNever),
      not_built<Routing>("pii", kNever),
      not_built<Routing>("kb", kNever),
      not_built<Routing>("conversation", kNever),
      not_built<Routing>("events", kNever),
      not_built<Routing>("metadata", kNever),
      not_built<Routing>("classifiers", kNever),
  }};
  return section;
}

}  // namespace signalbox::config
