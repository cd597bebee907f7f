// Plugins behind which other services stand: documents and images.

#include "router/config/plugin_tables.h"

namespace signalbox::config {
namespace {

const Section<RagBackend>& rag_backend_section();

// At most one backend inside another: a struct cannot hold itself, a list of it can.
Value<RagBackend> backend_inside(std::vector<RagBackend> RagBackend::*member) {
  return {"a mapping",
          [member](Reader& reader, const yaml::Node& node, RagBackend& out) {
            read_section(reader, node, rag_backend_section(), (out.*member).emplace_back());
          },
          [](Schema& schema) { refer_to<RagBackend>(schema, rag_backend_section); }};
}

const Section<RagBackend>& rag_backend_section() {
  using B = RagBackend;
  static const Section<B> section{{
      optional("collection", string(&B::collection), "milvus, qdrant: where the documents are"),
      optional("reuse_cache_connection", boolean(&B::reuse_cache_connection),
               "milvus: the server of the response cache"),
      optional("content_field", string(&B::content_field), "milvus: the text of a document"),
      optional("metadata_field", string(&B::metadata_field), "milvus: what is known about it"),
      optional("filter_expression", string(&B::filter_expression), "milvus: which documents"),
      optional("endpoint", string(&B::endpoint), "external_api: its URL"),
      optional("api_key", string(&B::api_key), "external_api, openai"),
      optional("auth_header", string(&B::auth_header), "external_api: carries the key"),
      optional("request_format", string(&B::request_format), "external_api: pinecone, custom"),
      optional("request_template", string(&B::request_template), "external_api: of custom"),
      optional("headers", text_map(&B::headers), "external_api: sent along"),
      optional("server_name", string(&B::server_name), "mcp: the server"),
      optional("tool_name", string(&B::tool_name), "mcp: its tool"),
      optional("tool_arguments", anything(&B::tool_arguments),
               "mcp: ${user_content} and ${top_k} are replaced"),
      optional("base_url", string(&B::base_url), "openai: the server"),
      optional("vector_store_id", string(&B::vector_store_id), "openai, vectorstore"),
      optional("file_ids", texts(&B::file_ids), "openai, vectorstore: only these files"),
      optional("filter", anything(&B::filter), "openai: which documents"),
      optional("max_num_results", count(&B::max_num_results), "openai"),
      optional("workflow_mode", string(&B::workflow_mode), "openai: direct_search, tool_based"),
      optional("primary", string(&B::primary), "hybrid: one backend"),
      optional("fallback", string(&B::fallback), "hybrid: another"),
      optional("strategy", string(&B::strategy), "hybrid: sequential, parallel"),
      optional("primary_config", backend_inside(&B::primary_config), "hybrid: of the first"),
      optional("fallback_config", backend_inside(&B::fallback_config), "hybrid: of the second"),
      optional("timeout_seconds", count(&B::timeout_seconds), "for an answer"),
  }};
  return section;
}

const Section<ImageGenPlugin::Backend>& image_backend_section() {
  using B = ImageGenPlugin::Backend;
  static const Section<B> section{{
      optional("base_url", string(&B::base_url), "the server"),
      optional("model", string(&B::model), "its model"),
      optional("api_key", string(&B::api_key), "openai: the key"),
      optional("quality", string(&B::quality), "openai: hd, ..."),
      optional("style", string(&B::style), "openai: vivid, ..."),
      optional("num_inference_steps", count(&B::num_inference_steps), "vllm_omni"),
      optional("cfg_scale", positive(&B::cfg_scale), "vllm_omni"),
      optional("seed", integer(&B::seed, INT64_MIN, INT64_MAX), "vllm_omni"),
  }};
  return section;
}

const Section<ModalityDetection::Classifier>& modality_classifier_section() {
  using C = ModalityDetection::Classifier;
  static const Section<C> section{{
      optional("model_path", string(&C::model_path), "a model directory"),
      optional("use_cpu", boolean(&C::use_cpu), "run it there"),
  }};
  return section;
}

}  // namespace

const Section<ModalityDetection>& modality_detection_section() {
  using D = ModalityDetection;
  static const Section<D> section{{
      optional("enabled", boolean(&D::enabled), "false takes every request for text"),
      optional("method", word(&D::method, {"classifier", "keyword", "hybrid"}), "how"),
      optional("classifier", object(&D::classifier, modality_classifier_section), "the model"),
      optional("keywords", texts(&D::keywords), "words that ask for an image"),
      optional("both_keywords", texts(&D::both_keywords), "words that ask for text and image"),
      optional("prompt_prefixes", texts(&D::prompt_prefixes), "left out of the image's prompt"),
      optional("confidence_threshold", share(&D::confidence_threshold), "of the classifier"),
      optional("lower_threshold_ratio", share(&D::lower_threshold_ratio),
               "share of it that suffices beside a keyword"),
  }};
  return section;
}

const Section<RagPlugin>& rag_section() {
  using P = RagPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false adds no documents"),
      optional("backend", string(&P::backend),
               "milvus, qdrant, external_api, mcp, openai, vectorstore or hybrid"),
      optional("similarity_threshold", number(&P::similarity_threshold, -1, 1),
               "least similarity to the request"),
      optional("top_k", count(&P::top_k), "documents that are added"),
      optional("max_context_length", count(&P::max_context_length), "of all of them"),
      optional("injection_mode", string(&P::injection_mode), "tool_role or system_prompt"),
      optional("on_failure", word(&P::on_failure, {"skip", "warn", "block"}),
               "when the backend fails"),
      optional("cache_results", boolean(&P::cache_results), "keep what was found"),
      optional("cache_ttl_seconds", count(&P::cache_ttl_seconds), "for how long"),
      optional("min_confidence_threshold", number(&P::min_confidence_threshold, -1, 1),
               "below it nothing is added"),
      optional("backend_config", object(&P::backend_config, rag_backend_section),
               "keys of the backend"),
  }};
  return section;
}

const Section<ImageGenPlugin>& image_gen_section() {
  using P = ImageGenPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false makes no images"),
      optional("backend", string(&P::backend), "openai or vllm_omni"),
      optional("backend_config", object(&P::backend_config, image_backend_section),
               "keys of the backend"),
      optional("modality_detection", object(&P::modality_detection, modality_detection_section),
               "how it is seen that an image is asked for"),
      optional("default_width", count(&P::default_width), "pixels"),
      optional("default_height", count(&P::default_height), "pixels"),
      optional("max_inference_steps", count(&P::max_inference_steps), "of an image"),
      optional("timeout_seconds", count(&P::timeout_seconds), "for an image"),
  }};
  return section;
}

}  // namespace signalbox::config
