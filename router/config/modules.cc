// `global.model_catalog.modules`: what the models are used for, each with the keys it needs.

#include "router/config/global_tables.h"
#include "router/config/plugin_tables.h"

namespace signalbox::config {
namespace {

// What every classifier has, and `more` of its own.
Section<ClassifierModel> classifier(std::initializer_list<Field<ClassifierModel>> more) {
  using C = ClassifierModel;
  Section<ClassifierModel> all{{
      optional("enabled", boolean(&C::enabled), "false does without"),
      optional("model_ref", string(&C::model_ref), "one of model_catalog.system"),
      optional("model_id", string(&C::model_id), "or a directory"),
      optional("threshold", share(&C::threshold), "least score; 0: the default"),
      optional("use_cpu", boolean(&C::use_cpu), "run it there"),
      optional("use_modernbert", boolean(&C::use_modernbert), "kind of model, in older files"),
      optional("use_mmbert_32k", boolean(&C::use_mmbert_32k), "kind of model, in older files"),
      optional("variant", string(&C::variant), "kind of model: mmbert32k, candle, http_chat, ...")
          .alias("backend"),
  }};
  all.fields.insert(all.fields.end(), more.begin(), more.end());
  return all;
}

Field<ClassifierModel> mapping(std::string_view key,
                               std::string_view meaning = "a file with the classes by number") {
  return optional(key, string(&ClassifierModel::mapping_path), meaning);
}

const Section<ClassifierModel>& prompt_guard_section() {
  using C = ClassifierModel;
  using OnError = C::OnError;
  static const Section<C> section = classifier({
      mapping("jailbreak_mapping_path"),
      optional("positive_labels", texts(&C::positive_labels), "classes that count as an attempt"),
      optional("on_error",
               choice(&C::on_error, {{"allow", OnError::kAllow}, {"block", OnError::kBlock}}),
               "what a request is taken for when the model fails"),
  });
  return section;
}

const Section<ClassifierModel>& domain_classifier_section() {
  static const Section<ClassifierModel> section = classifier({
      mapping("category_mapping_path"),
      optional("fallback_category", string(&ClassifierModel::fallback_category),
               "when no class reaches the threshold"),
  });
  return section;
}

const Section<ClassifierModel>& pii_classifier_section() {
  static const Section<ClassifierModel> section = classifier(
      {mapping("pii_mapping_path",
               "types by number; what is read is pii_type_mapping.json in the model's directory")});
  return section;
}

const Section<ClassifierModel>& feedback_section() {
  static const Section<ClassifierModel> section = classifier({mapping("feedback_mapping_path")});
  return section;
}

const Section<ClassifierModel>& plain_classifier_section() {
  static const Section<ClassifierModel> section = classifier({});
  return section;
}

const Section<McpClassifier>& mcp_section() {
  using M = McpClassifier;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "ask an MCP server for the domain"),
      optional("transport_type", string(&M::transport_type), "how: stdio or http"),
      optional("command", string(&M::command), "of stdio"),
      optional("args", texts(&M::args), "of the command"),
      optional("env", text_map(&M::env), "of the command"),
      optional("url", string(&M::url), "of http"),
      optional("tool_name", string(&M::tool_name), "the server's tool"),
      optional("threshold", share(&M::threshold), "least score"),
      optional("timeout_seconds", count(&M::timeout_seconds), "for an answer"),
  }};
  return section;
}

const Section<PreferenceModel>& preference_model_section() {
  using P = PreferenceModel;
  static const Section<P> section{{
      optional("use_contrastive", boolean(&P::use_contrastive), "compare with the examples"),
      optional("embedding_model", string(&P::embedding_model), "that compares"),
      optional("prototype_scoring", object(&P::prototype_scoring, prototype_scoring_section),
               "from similarities to a score"),
  }};
  return section;
}

const Section<ClassifierModules>& classifiers_section() {
  using C = ClassifierModules;
  static const Section<C> section{{
      optional("domain", object(&C::domain, domain_classifier_section), "fields of knowledge"),
      optional("pii", object(&C::pii, pii_classifier_section), "personal data"),
      optional("mcp", object(&C::mcp, mcp_section), "fields of knowledge, by an MCP server")
          .not_built("no MCP server is asked"),
      optional("preference", object(&C::preference, preference_model_section),
               "how users want answers"),
  }};
  return section;
}

const Section<PromptCompression>& compression_section() {
  using P = PromptCompression;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "shorten what models read to decide"),
      optional("profile",
               word(&P::profile,
                    {"default", "coding", "medical", "security", "multi_turn", "multi-turn"}),
               "default weights"),
      optional("max_tokens", count(&P::max_tokens),
               "longer texts are shortened to this; 0: none is"),
      optional("min_length", count(&P::min_length), "bytes; shorter texts never are"),
      optional("skip_signals", texts(&P::skip_signals),
               "types of signals that read everything; jailbreak and pii always do"),
      optional("textrank_weight", positive(&P::textrank_weight), "of what others refer to"),
      optional("position_weight", positive(&P::position_weight), "of beginning and end"),
      optional("tfidf_weight", positive(&P::tfidf_weight), "of rare words"),
      optional("novelty_weight", positive(&P::novelty_weight), "of what differs"),
      optional("position_depth", number(&P::position_depth, 0, 1), "of the middle"),
      optional("preserve_first_n", count(&P::preserve_first_n), "sentences that stay"),
      optional("preserve_last_n", count(&P::preserve_last_n), "sentences that stay"),
  }};
  return section;
}

// The keys of a model, in what holds it as `model`.
void add_model_keys(Section<HallucinationDetector>& section) {
  for (AnyField field : plain_classifier_section().fields) {
    if (field.key == "variant") continue;
    const auto read_model = field.value.read_into;
    field.value.read_into = [read_model](Reader& reader, const yaml::Node& node, void* out) {
      read_model(reader, node, &static_cast<HallucinationDetector*>(out)->model);
    };
    section.fields.push_back(std::move(field));
  }
}

constexpr std::string_view kNoEndpoint = "no language model is asked about spans";

const Section<HallucinationDetector>& detector_section() {
  using D = HallucinationDetector;
  static const Section<D> section = [] {
    Section<D> all{{
        optional("backend", string(&D::backend),
                 "candle or endpoint; the model here is run for both"),
        optional("endpoint", string(&D::endpoint), "of endpoint: a URL").not_built(kNoEndpoint),
        optional("include_explanation", boolean(&D::include_explanation), "of endpoint")
            .not_built(kNoEndpoint),
        optional("min_span_length", count(&D::min_span_length), "words"),
        optional("min_span_confidence", share(&D::min_span_confidence), "of a span"),
        optional("context_window_size", count(&D::context_window_size), "words around a span")
            .not_built("a sentence is held against the whole context"),
        optional("enable_nli_filtering", boolean(&D::enable_nli_filtering),
                 "drop spans that follow from the context, as use_nli of the plugin does"),
        optional("nli_entailment_threshold", share(&D::nli_entailment_threshold), "of that"),
    }};
    add_model_keys(all);
    return all;
  }();
  return section;
}

const Section<HallucinationMitigation>& hallucination_module_section() {
  using H = HallucinationMitigation;
  static const Section<H> section{{
      optional("enabled", boolean(&H::enabled), "check replies"),
      optional("on_hallucination_detected", string(&H::on_hallucination_detected),
               "in older files: annotate, ..."),
      optional("fact_check", object(&H::fact_check, plain_classifier_section),
               "whether facts are asked for"),
      optional("detector", object(&H::detector, detector_section), "finds spans"),
      optional("explainer", object(&H::explainer, plain_classifier_section),
               "says whether sentences follow from the context"),
  }};
  return section;
}

const Section<ComplexityModule>& complexity_module_section() {
  static const Section<ComplexityModule> section{{
      optional("prototype_scoring",
               object(&ComplexityModule::prototype_scoring, prototype_scoring_section),
               "from similarities to a score"),
  }};
  return section;
}

}  // namespace

const Section<Modules>& modules_section() {
  using M = Modules;
  static const Section<M> section{{
      optional("prompt_compression", object(&M::prompt_compression, compression_section),
               "shorter texts for signals that run models"),
      optional("prompt_guard", object(&M::prompt_guard, prompt_guard_section), "jailbreaks"),
      optional("classifier", object(&M::classifier, classifiers_section),
               "domains, personal data, preferences"),
      optional("complexity", object(&M::complexity, complexity_module_section), "hard and easy"),
      optional("hallucination_mitigation",
               object(&M::hallucination_mitigation, hallucination_module_section),
               "replies that the context does not support"),
      optional("feedback_detector", object(&M::feedback_detector, feedback_section),
               "what users think of an answer"),
      optional("modality_detector", object(&M::modality_detector, modality_detection_section),
               "text or image"),
  }};
  return section;
}

}  // namespace signalbox::config
