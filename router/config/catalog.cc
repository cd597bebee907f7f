// `global.model_catalog`: the models that understand requests.

#include "router/config/global_tables.h"

namespace signalbox::config {
namespace {

const Section<EmbeddingModel>& embedding_config_section() {
  using E = EmbeddingModel;
  static const Section<E> section{{
      optional("top_k", integer(&E::top_k, 0, 1'000'000), "how many signals may match; 0: all"),
      optional("min_score_threshold", number(&E::soft_threshold, -1, 1), "of soft matching"),
      optional("enable_soft_matching", boolean(&E::soft_matching),
               "accept min_score_threshold when no signal reaches its own threshold"),
      optional("backend", string(&E::backend), "of upstream: candle, onnx, openvino"),
      optional("preload_embeddings", boolean(&E::preload_embeddings), "always done"),
      optional("model_type", string(&E::model_type), "mmbert, qwen3, gemma, bert, multimodal, ...")
          .not_built("the model of minilm_model_path is used"),
      optional("target_dimension", count(&E::target_dimension), "numbers of an embedding")
          .not_built("embeddings have the model's own width"),
      optional("target_layer", count(&E::target_layer), "layers that run")
          .not_built("all layers run"),
      optional("prototype_scoring", object(&E::prototype_scoring, prototype_scoring_section),
               "from similarities to a score"),
  }};
  return section;
}

const Section<EmbeddingEndpoint>& embedding_endpoint_section() {
  using E = EmbeddingEndpoint;
  static const Section<E> section{{
      optional("base_url", string(&E::base_url), "of the server"),
      optional("model", string(&E::model), "its model"),
      optional("api_key_env", string(&E::api_key_env), "environment variable that holds the key"),
      optional("timeout_seconds", count(&E::timeout_seconds), "for an answer"),
      optional("max_retries", count(&E::max_retries), "of a call"),
      optional("dimensions", count(&E::dimensions), "numbers of an embedding"),
  }};
  return section;
}

const Section<EmbeddingModel>& semantic_section() {
  using E = EmbeddingModel;
  constexpr std::string_view kOtherModel = "embedding signals use the model of minilm_model_path";
  static const Section<E> section{{
      optional("minilm_model_path", text(&E::path), "directory of the embedding model"),
      optional("embedding_config", group(embedding_config_section),
               "how similarities become matches"),
      optional("use_cpu", boolean(&E::use_cpu), "always so"),
      optional("mmbert_model_path", string(&E::mmbert_model_path), "another")
          .not_built(kOtherModel),
      optional("bert_model_path", string(&E::bert_model_path), "another").not_built(kOtherModel),
      optional("qwen3_model_path", string(&E::qwen3_model_path), "another").not_built(kOtherModel),
      optional("gemma_model_path", string(&E::gemma_model_path), "another").not_built(kOtherModel),
      optional("multimodal_model_path", string(&E::multimodal_model_path), "for images")
          .not_built(kOtherModel),
      optional("endpoint", object(&E::endpoint, embedding_endpoint_section), "a server that embeds")
          .not_built(kOtherModel),
  }};
  return section;
}

const Section<Config>& embeddings_section() {
  static const Section<Config> section{{
      optional("semantic", object(&Config::embedding_model, semantic_section),
               "the embedding model"),
  }};
  return section;
}

const Section<SystemModels>& system_section() {
  using S = SystemModels;
  static const Section<S> section{{
      optional("prompt_guard", string(&S::prompt_guard), "finds jailbreaks"),
      optional("domain_classifier", string(&S::domain_classifier), "finds the domain"),
      optional("pii_classifier", string(&S::pii_classifier), "finds personal data"),
      optional("fact_check_classifier", string(&S::fact_check_classifier), "finds facts asked for"),
      optional("hallucination_detector", string(&S::hallucination_detector),
               "finds what context does not support"),
      optional("hallucination_explainer", string(&S::hallucination_explainer),
               "says whether a sentence follows from another"),
      optional("feedback_detector", string(&S::feedback_detector),
               "finds what users think of an answer"),
  }};
  return section;
}

const Section<ExternalModel::Endpoint>& external_endpoint_section() {
  using E = ExternalModel::Endpoint;
  static const Section<E> section{{
      optional("name", string(&E::name), "of the endpoint"),
      optional("address", string(&E::address), "host"),
      optional("port", integer(&E::port, 0, 65535), "of the host"),
      optional("protocol", word(&E::protocol, {"http", "https"}), "how to speak to it"),
      optional("use_chat_template", boolean(&E::use_chat_template), "wrap the text"),
      optional("prompt_template", string(&E::prompt_template), "in this"),
  }};
  return section;
}

const Section<ExternalModel>& external_section() {
  using E = ExternalModel;
  static const Section<E> section{{
      optional("name", string(&E::name), "what signals call it"),
      optional("llm_provider", string(&E::llm_provider), "whose dialect it speaks"),
      optional("model_role", string(&E::model_role), "guardrail, classification, preference, ..."),
      optional("llm_endpoint", object(&E::llm_endpoint, external_endpoint_section), "the server"),
      optional("llm_model_name", string(&E::llm_model_name), "its model"),
      optional("llm_timeout_seconds", count(&E::llm_timeout_seconds), "for an answer"),
      optional("parser_type", string(&E::parser_type), "how the answer is read"),
      optional("threshold", share(&E::threshold), "least score"),
      optional("access_key", string(&E::access_key), "of the login"),
      optional("max_tokens", count(&E::max_tokens), "of an answer"),
      optional("temperature", positive(&E::temperature), "of a call"),
  }};
  return section;
}

const Section<KnowledgeBase::Source>& kb_source_section() {
  using S = KnowledgeBase::Source;
  static const Section<S> section{{
      required("path", text(&S::path), "a folder"),
      optional("manifest", string(&S::manifest), "the file in it with labels and examples"),
  }};
  return section;
}

const Section<KnowledgeBase::Metric>& kb_metric_section() {
  using M = KnowledgeBase::Metric;
  static const Section<M> section{{
      required("name", text(&M::name), "what scores call it"),
      optional("type", word(&M::type, {"group_margin"}), "the best of one group less another's"),
      optional("positive_group", string(&M::positive_group), "the one"),
      optional("negative_group", string(&M::negative_group), "the other"),
  }};
  return section;
}

const Section<KnowledgeBase>& knowledge_base_section() {
  using K = KnowledgeBase;
  static const Section<K> section{{
      required("name", text(&K::name), "what signals call it"),
      required("source", object(&K::source, kb_source_section), "where it is"),
      optional("threshold", number(&K::threshold, -1, 1), "least similarity to a label"),
      optional("prototype_scoring", object(&K::prototype_scoring, prototype_scoring_section),
               "from similarities to a score"),
      optional("label_thresholds", number_map(&K::label_thresholds), "of single labels"),
      optional("groups", texts_map(&K::groups), "labels that belong together"),
      optional("metrics", named_list(&K::metrics, kb_metric_section), "numbers for projections"),
  }};
  return section;
}

}  // namespace

const Section<PrototypeScoring>& prototype_scoring_section() {
  using P = PrototypeScoring;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "cluster the examples"),
      optional("cluster_similarity_threshold", number(&P::cluster_similarity_threshold, -1, 1),
               "more alike is one prototype"),
      optional("max_prototypes", count(&P::max_prototypes), "of a class"),
      optional("best_weight", share(&P::best_weight), "of the nearest; the rest: the mean"),
      optional("top_m", count(&P::top_m), "over how many the mean is"),
      optional("margin_threshold", number(&P::margin_threshold, -1, 2), "to the next class"),
  }};
  return section;
}

const Section<Config>& catalog_section() {
  using C = Config;
  static const Section<C> section{{
      optional("embeddings", group(embeddings_section), "models that embed text"),
      optional("system", object(&C::system_models, system_section), "models by what they do"),
      optional("modules", object(&C::modules, modules_section), "what they are used for"),
      optional("external", list(&C::external_models, external_section), "models elsewhere")
          .not_built("these services are not called"),
      optional("kbs", named_list(&C::kbs, knowledge_base_section), "labels with examples"),
  }};
  return section;
}

}  // namespace signalbox::config
