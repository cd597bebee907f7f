// `global`: the process and its models. `services.http` is ours: upstream leaves these limits to a
// proxy.

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

void add_auto_name(Config& config, std::string name) {
  for (const std::string& known : config.auto_model_names) {
    if (known == name) return;
  }
  config.auto_model_names.push_back(std::move(name));
}

void read_auto_name(Reader& reader, const yaml::Node& node, Config& out) {
  std::string name;
  read_text(reader, node, name);
  if (!name.empty()) add_auto_name(out, std::move(name));
}

void read_auto_names(Reader& reader, const yaml::Node& node, Config& out) {
  std::vector<std::string> names;
  read_texts(reader, node, names);
  for (std::string& name : names) add_auto_name(out, std::move(name));
}

void read_strategy(Reader& reader, const yaml::Node& node, Config& out) {
  strategy_value().read(reader, node, out.routing);
}

const Section<Config>& router_section() {
  static const Section<Config> section{{
      optional("auto_model_name", Value<Config>{"a string", read_auto_name},
               "one more model name that means: choose"),
      optional("auto_model_names", Value<Config>{"a list of strings", read_auto_names},
               "more such names"),
      remark<Config>("config_source"),
      remark<Config>("clear_route_cache"),
      optional("strategy", Value<Config>{"one of priority, confidence", read_strategy},
               "when routing.strategy is not given"),
      not_built<Config>("streamed_body", "services.http limits bodies"),
      not_built<Config>("include_config_models_in_list", "/v1/models lists what it lists"),
      not_built<Config>("skip_processing", "no request header skips the router"),
      not_built<Config>("model_selection", "the first of a decision's modelRefs is used"),
      not_built<Config>("learning", "nothing is learnt from outcomes"),
  }};
  return section;
}

const Section<HttpLimits>& http_section() {
  using L = HttpLimits;
  static const Section<HttpLimits> section{{
      optional("header_bytes_max", bytes(&L::header_bytes_max, 1024, 1 << 24),
               "of a request's header"),
      optional("body_bytes_max", bytes(&L::body_bytes_max, 1024, int64_t{1} << 30),
               "of a request's body"),
      optional("header_timeout", duration(&L::header_timeout, 1ms, 1h),
               "from a header's first byte to its end"),
      optional("body_timeout", duration(&L::body_timeout, 1ms, 1h), "for a body to arrive"),
      optional("idle_timeout", duration(&L::idle_timeout, 1ms, 24h),
               "between requests of one connection"),
      optional("connect_timeout", duration(&L::connect_timeout, 1ms, 10min),
               "to reach an upstream"),
      optional("connections_max", integer(&L::connections_max, 1, 10'000'000), "clients at a time"),
      optional("threads", integer(&L::threads, 0, 1024), "event loops; 0: one a processor"),
      optional("reply_header_bytes_max", bytes(&L::reply_header_bytes_max, 1024, 1 << 24),
               "of an upstream's reply"),
      optional("upstream_idle_max", integer(&L::upstream_idle_max, 0, 100'000),
               "kept connections to one upstream, an event loop"),
      optional("upstream_idle_timeout", duration(&L::upstream_idle_timeout, 1ms, 24h),
               "how long they are kept"),
      optional("model_threads", integer(&L::model_threads, 0, 1024),
               "that run the router's own models; 0: one a processor"),
      optional("model_queue_max", integer(&L::model_queue_max, 1, 1'000'000),
               "requests that wait for one; the next gets 429"),
      optional("drain_timeout", duration(&L::drain_timeout, 0ms, 1h),
               "for requests in flight when the daemon ends"),
  }};
  return section;
}

const Section<ManagementApi>& management_section() {
  static const Section<ManagementApi> section{{
      optional("enabled", boolean(&ManagementApi::enabled), "false opens no management port"),
      optional("bind_address", text(&ManagementApi::bind_address), "interface to bind"),
      optional("port", integer(&ManagementApi::port, 0, 65535),
               "TCP port; 0 lets the system choose"),
      not_built<ManagementApi>("remote_exposure", "bind_address alone decides who can connect"),
      not_built<ManagementApi>("auth", "whoever can connect may ask"),
  }};
  return section;
}

const Section<Config>& services_section() {
  static const Section<Config> section{{
      optional("http", object(&Config::http, http_section), "limits of the HTTP server"),
      optional("management_api", object(&Config::management, management_section),
               "the management port"),
      not_built<Config>("api", "classification requests are not batched"),
      not_built<Config>("response_api", "/v1/responses is not served"),
      not_built<Config>("observability", "no traces and no windowed metrics are kept"),
      not_built<Config>("authz", "roles are not looked up"),
      not_built<Config>("ratelimit", "no rate is limited"),
      remark<Config>("startup_status"),
      not_built<Config>("router_replay", "nothing is recorded"),
  }};
  return section;
}

const Section<Config>& stores_section() {
  static const Section<Config> section{{
      not_built<Config>("response_cache", "every request reaches its model"),
      not_built<Config>("memory", "nothing is remembered between requests"),
      not_built<Config>("vector_store", "no documents are stored"),
  }};
  return section;
}

const Section<Config>& integrations_section() {
  static const Section<Config> section{{
      not_built<Config>("tools", "tools are passed on as they come"),
      not_built<Config>("looper", "one model answers a request"),
  }};
  return section;
}

const Section<EmbeddingModel>& embedding_config_section() {
  static const Section<EmbeddingModel> section{{
      optional("top_k", integer(&EmbeddingModel::top_k, 0, 1'000'000),
               "how many signals may match; 0: all"),
      optional("min_score_threshold", number(&EmbeddingModel::soft_threshold, -1, 1),
               "of soft matching"),
      optional("enable_soft_matching", boolean(&EmbeddingModel::soft_matching),
               "accept min_score_threshold when no signal reaches its own threshold"),
      remark<EmbeddingModel>("backend"),
      remark<EmbeddingModel>("preload_embeddings"),
      not_built<EmbeddingModel>("model_type", "the model of minilm_model_path is used"),
      not_built<EmbeddingModel>("target_dimension", "embeddings have the model's own width"),
      not_built<EmbeddingModel>("target_layer", "all layers run"),
      not_built<EmbeddingModel>("prototype_scoring", "its default values hold"),
  }};
  return section;
}

const Section<EmbeddingModel>& semantic_section() {
  constexpr std::string_view kOtherModel = "embedding signals use the model of minilm_model_path";
  static const Section<EmbeddingModel> section{{
      optional("minilm_model_path", text(&EmbeddingModel::path),
               "directory of the embedding model"),
      optional("embedding_config", group(embedding_config_section),
               "how similarities become matches"),
      remark<EmbeddingModel>("use_cpu"),
      not_built<EmbeddingModel>("mmbert_model_path", kOtherModel),
      not_built<EmbeddingModel>("bert_model_path", kOtherModel),
      not_built<EmbeddingModel>("qwen3_model_path", kOtherModel),
      not_built<EmbeddingModel>("gemma_model_path", kOtherModel),
      not_built<EmbeddingModel>("multimodal_model_path", kOtherModel),
      not_built<EmbeddingModel>("endpoint", kOtherModel),
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

const Section<Config>& catalog_section() {
  static const Section<Config> section{{
      optional("embeddings", group(embeddings_section), "models that embed text"),
      not_built<Config>("system", "these models are not loaded"),
      not_built<Config>("modules", "these modules do not run"),
      not_built<Config>("external", "these services are not called"),
      not_built<Config>("kbs", "these knowledge bases are not loaded"),
  }};
  return section;
}

}  // namespace

const Section<Config>& global_section() {
  static const Section<Config> section{{
      optional("router", group(router_section), "the router itself"),
      optional("services", group(services_section), "what listens"),
      optional("stores", group(stores_section), "what is kept"),
      optional("integrations", group(integrations_section), "what is called"),
      optional("model_catalog", group(catalog_section), "what understands requests"),
  }};
  return section;
}

}  // namespace signalbox::config
